#include "nereus/serving/bucket.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
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

/// Removes a folder unless it was kept.
class Scratch {
 public:
  explicit Scratch(fs::path path) : path_(std::move(path)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

Manifest describe(int64_t version, int64_t step, const std::string& base, std::span<const NewFile> files) {
  Manifest manifest{version, step, "lora", base, {}};
  for (const auto& file : files)
    manifest.files.push_back({file.name, file.bytes.size(), formats::sha256(file.bytes)});
  return manifest;
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

Bucket::Bucket(fs::path root)
    : root_(std::move(root)), clock_(std::make_shared<SteadyClock>()), pause_(pause_thread) {}

Result<Bucket> Bucket::open(fs::path root) {
  std::error_code code;
  fs::create_directories(root, code);
  if (code || !fs::is_directory(root, code))
    return fail("{}: the bucket cannot be made: {}", root.string(), code ? code.message() : "not a folder");
  return Bucket(std::move(root));
}

void Bucket::set_clock(const Clock& clock, std::function<void(double)> pause) {
  clock_ = std::shared_ptr<const Clock>(std::shared_ptr<void>(), &clock);  // not owned
  pause_ = std::move(pause);
}

fs::path Bucket::folder(int64_t version) const {
  return root_ / version_name(version);
}

Status Bucket::write_version(const fs::path& folder, const Manifest& manifest,
                             std::span<const NewFile> files) const {
  std::error_code code;
  if (!fs::create_directory(folder, code) || code)
    return fail("{}: cannot be made: {}", folder.string(), code.message());
  for (const auto& file : files)
    if (auto written = formats::write_file_atomically(folder / file.name, file.bytes); !written)
      return written;
  // The manifest comes last: where it is, all else is. Each write syncs its file and the folder.
  return formats::write_json_file(folder / kManifestName, manifest.json());
}

Result<Manifest> Bucket::publish(int64_t version, int64_t step, const std::string& base,
                                 std::span<const NewFile> files) {
  if (version < 0) return fail("{}: version {}: expected 0 or more", root_.string(), version);
  const auto present = newest();
  if (!present) return pass(present);
  if (*present && version <= **present)
    return fail("{}: version {} cannot be published: version {} is there already, and versions only grow",
                root_.string(), version, **present);
  const Manifest manifest = describe(version, step, base, files);
  if (auto written = put(manifest, files); !written) return pass(written);
  return manifest;
}

Status Bucket::import(const Manifest& manifest, std::span<const NewFile> files) {
  if (auto same = same_files(manifest, files); !same) return same;
  return put(manifest, files);
}

/// Files that are those of the manifest.
Status Bucket::put(const Manifest& manifest, std::span<const NewFile> files) {
  const int64_t version = manifest.version;
  const std::string name = version_name(version);
  if (auto checked = Manifest::from_json(manifest.json(), name); !checked) return pass(checked);
  const fs::path temporary = root_ / fmt::format("{}{}-{}", kTemporaryPrefix, name, ::getpid());
  std::error_code code;
  fs::remove_all(temporary, code);
  Scratch scratch(temporary);
  if (auto written = write_version(temporary, manifest, files); !written) return written;
  fs::rename(temporary, folder(version), code);
  if (code) return fail("{}: cannot be renamed to its place: {}", folder(version).string(), code.message());
  scratch.keep();
  return formats::sync_folder(root_);
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
