#include "nereus/serving/bucket.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "nereus/formats/atomic_file.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/sha256.h"

namespace nereus::serving {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporaryPrefix = ".publishing-";
constexpr double kLongestPause = 0.5;

void pause_thread(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Status sync_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!synced) return fail("{}: syncing failed: {}", path.string(), std::strerror(error));
  return {};
}

/// The files of a folder, by name, with their digests; each is on the disk then.
Result<std::vector<ManifestFile>> describe(const fs::path& folder) {
  std::vector<ManifestFile> files;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    if (entry->is_symlink(code) || !entry->is_regular_file(code))
      return fail("{}: expected files alone", path.string());
    if (auto synced = sync_file(path); !synced) return pass(synced);
    auto digest = formats::sha256_file(path);
    if (!digest) return pass(digest);
    files.push_back({path.filename().string(), entry->file_size(code), std::move(*digest)});
  }
  if (code) return fail("{}: cannot be read: {}", folder.string(), code.message());
  std::ranges::sort(files, {}, &ManifestFile::name);
  return files;
}

/// Whether readers will take it.
Status check(const Manifest& manifest) {
  const auto read = Manifest::from_json(manifest.json(), version_name(manifest.version));
  return read ? Status() : pass(read);
}

Status same_files(const Manifest& manifest, std::span<const NewFile> files) {
  if (files.size() != manifest.files.size())
    return fail("version {}: {} files, the manifest lists {}", manifest.version, files.size(),
                manifest.files.size());
  for (const auto& file : files) {
    const auto* listed = manifest.find(file.name);
    if (!listed || listed->bytes != file.bytes.size() || listed->sha256 != formats::sha256(file.bytes))
      return fail("version {}: {}: its bytes are not those of the manifest", manifest.version, file.name);
  }
  return {};
}

/// Whether a folder is what a publication or a removal left behind when it was killed.
bool left_behind(const fs::path& path) {
  std::error_code code;
  const std::string name = path.filename().string();
  return name.starts_with(kTemporaryPrefix) ||
         (version_of(name) >= 0 && !fs::exists(path / kManifestName, code));
}

}  // namespace

Draft::~Draft() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Bucket::Bucket(fs::path root)
    : root_(std::move(root)),
      clock_(std::make_shared<SteadyClock>()),
      pause_(pause_thread),
      sync_(formats::sync_folder) {}

Result<Bucket> Bucket::open(const fs::path& root) {
  std::error_code code;
  fs::create_directories(root, code);
  if (code || !fs::is_directory(root, code))
    return fail("{}: the bucket cannot be made: {}", root.string(), code ? code.message() : "not a folder");
  const fs::path whole = fs::absolute(root).lexically_normal();
  return Bucket(whole.has_filename() ? whole : whole.parent_path());
}

void Bucket::set_clock(const Clock& clock, std::function<void(double)> pause) {
  clock_ = std::shared_ptr<const Clock>(std::shared_ptr<void>(), &clock);  // not owned
  pause_ = std::move(pause);
}

fs::path Bucket::folder(int64_t version) const {
  return root_ / version_name(version);
}

Result<Draft> Bucket::draft() const {
  constexpr int kMost = 1000;
  std::error_code code;
  for (int number = 0; number < kMost && !code; ++number) {
    const fs::path folder = root_ / fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), number);
    if (fs::create_directory(folder, code)) return Draft(folder);
  }
  return fail("{}: a new version cannot be made: {}", root_.string(),
              code ? code.message() : "it is full of drafts");
}

Status Bucket::newer_than_all(int64_t version) const {
  if (version < 0) return fail("{}: version {}: expected 0 or more", root_.string(), version);
  const auto present = newest();
  if (!present) return pass(present);
  if (*present && version <= **present)
    return fail("{}: version {} cannot be published: version {} is there already, and versions only grow",
                root_.string(), version, **present);
  return {};
}

bool Bucket::is_unsettled(const Manifest& manifest) const {
  return unsettled_ && unsettled_->json() == manifest.json();
}

Result<Manifest> Bucket::publish(int64_t version, int64_t step, const std::string& base, Draft draft) {
  const bool again = unsettled_ && unsettled_->version == version;
  if (auto newer = newer_than_all(version); !newer && !again) return pass(newer);
  auto files = describe(draft.folder());
  if (!files) return pass(files);
  const Manifest manifest{version, step, "lora", base, std::move(*files)};
  if (auto checked = check(manifest); !checked) return pass(checked);
  if (auto placed = place(std::move(draft), manifest); !placed) return pass(placed);
  return manifest;
}

Status Bucket::import(const Manifest& manifest, std::span<const NewFile> files) {
  if (auto checked = check(manifest); !checked) return checked;
  if (auto same = same_files(manifest, files); !same) return same;
  auto made = draft();
  if (!made) return pass(made);
  for (const auto& file : files)
    if (auto written = formats::write_file_atomically(made->folder() / file.name, file.bytes); !written)
      return written;
  return place(std::move(*made), manifest);
}

/// Files that are those of the manifest, each on the disk.
Status Bucket::place(Draft draft, const Manifest& manifest) {
  if (!is_unsettled(manifest)) {
    const fs::path placed = folder(manifest.version);
    // The manifest comes last: where it is, all else is. Writing it syncs the folder too.
    if (auto written = formats::write_json_file(draft.folder() / kManifestName, manifest.json()); !written)
      return written;
    std::error_code code;
    fs::rename(draft.folder(), placed, code);
    if (code) return fail("{}: cannot be renamed to its place: {}", placed.string(), code.message());
    draft.keep();
    unsettled_ = manifest;
  }
  if (auto synced = sync_(root_); !synced) return synced;
  unsettled_.reset();
  return {};
}

Status Bucket::clean() {
  std::error_code code;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(root_, code), end; !code && entry != end; entry.increment(code))
    if (left_behind(entry->path())) stale.push_back(entry->path());
  for (const auto& path : stale)
    if (!code) fs::remove_all(path, code);
  if (code) return fail("{}: cannot be cleaned: {}", root_.string(), code.message());
  return {};
}

Result<std::vector<int64_t>> Bucket::versions() const {
  std::error_code code;
  std::vector<int64_t> found;
  for (fs::directory_iterator entry(root_, code), end; !code && entry != end; entry.increment(code)) {
    const int64_t version = version_of(entry->path().filename().string());
    std::error_code missing;
    if (version >= 0 && fs::is_regular_file(entry->path() / kManifestName, missing)) found.push_back(version);
  }
  if (code) return fail("{}: the bucket cannot be read: {}", root_.string(), code.message());
  std::ranges::sort(found);
  return found;
}

Result<std::optional<int64_t>> Bucket::newest() const {
  const auto found = versions();
  if (!found) return pass(found);
  return found->empty() ? std::nullopt : std::optional(found->back());
}

Status check_files(const fs::path& folder, const Manifest& manifest) {
  for (const auto& file : manifest.files) {
    const fs::path path = folder / file.name;
    std::error_code code;
    const auto bytes = fs::file_size(path, code);
    if (code) return fail("{}: {}, though the manifest lists it", path.string(), code.message());
    if (bytes != file.bytes)
      return fail("{}: has {} bytes, the manifest says {}", path.string(), bytes, file.bytes);
    const auto digest = formats::sha256_file(path);
    if (!digest) return pass(digest);
    if (*digest != file.sha256)
      return fail("{}: its SHA-256 is {}, the manifest says {}", path.string(), *digest, file.sha256);
  }
  return {};
}

Result<Manifest> Bucket::verify_once(int64_t version) const {
  const fs::path path = folder(version) / kManifestName;
  const auto value = formats::read_json_file(path);
  if (!value) return pass(value);
  auto manifest = Manifest::from_json(*value, path.string());
  if (!manifest) return manifest;
  if (manifest->version != version)
    return fail("{}: \"version\": {}, in the folder of version {}", path.string(), manifest->version,
                version);
  if (auto checked = check_files(folder(version), *manifest); !checked) return pass(checked);
  return manifest;
}

Result<Manifest> Bucket::verify(int64_t version) const {
  const double until = clock_->now() + patience_.seconds;
  double pause = patience_.first_pause_seconds;
  while (true) {
    auto manifest = verify_once(version);
    if (manifest) return manifest;
    if (clock_->now() >= until)
      return fail("{} (tried for {:.3g} s)", manifest.error().message, patience_.seconds);
    pause_(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<std::vector<int64_t>> Bucket::prune(size_t keep, const std::function<bool(int64_t)>& in_use) {
  const auto present = versions();
  if (!present) return pass(present);
  std::vector<int64_t> removed;
  for (size_t i = 0; i + keep < present->size(); ++i) {
    const int64_t version = (*present)[i];
    if (in_use && in_use(version)) continue;
    std::error_code code;
    // Its manifest goes first: nobody finds a version of which half is gone.
    fs::remove(folder(version) / kManifestName, code);
    if (!code) fs::remove_all(folder(version), code);
    if (code) return fail("{}: cannot be removed: {}", folder(version).string(), code.message());
    removed.push_back(version);
  }
  return removed;
}

}  // namespace nereus::serving
