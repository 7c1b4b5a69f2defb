#include "nereus/runtime/checkpoint_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "nereus/formats/json_file.h"
#include "nereus/formats/sha256.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSaving = ".saving-";
constexpr const char* kManifest = "manifest.json";

std::string folder_name(int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || stop != end || step < 0) return std::nullopt;
  return step;
}

Status sync(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail("{}: cannot open to sync: {}", path.string(), std::strerror(errno));
  const int result = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  if (result != 0) return fail("{}: cannot sync: {}", path.string(), std::strerror(error));
  return {};
}

Result<OrderedJson> describe_files(const fs::path& folder) {
  OrderedJson files = OrderedJson::object();
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    auto hash = formats::sha256_file(entry.path());
    if (!hash) return pass(hash);
    files[entry.path().lexically_relative(folder).string()] = {{"bytes", entry.file_size()},
                                                               {"sha256", *hash}};
  }
  return files;
}

Status sync_tree(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (auto status = sync(entry.path()); !status) return status;
  return sync(folder);
}

Status fill_and_rename(const fs::path& saving, const fs::path& final, int64_t step,
                       const std::function<Status(const fs::path&)>& fill) {
  if (auto status = fill(saving); !status) return status;
  auto files = describe_files(saving);
  if (!files) return pass(files);
  const OrderedJson manifest = {{"step", step}, {"files", *files}};
  if (auto status = formats::write_json_file(saving / kManifest, manifest); !status) return status;
  if (auto status = sync_tree(saving); !status) return status;
  fs::remove_all(final);
  fs::rename(saving, final);
  return sync(final.parent_path());
}

}  // namespace

Status CheckpointStore::save(int64_t step, int64_t keep, const std::function<Status(const fs::path&)>& fill) {
  const fs::path saving = folder_ / (std::string(kSaving) + folder_name(step));
  Status status;
  try {
    fs::remove_all(saving);
    fs::create_directories(saving);
    status = fill_and_rename(saving, folder_ / folder_name(step), step, fill);
    auto steps = list();
    if (status && keep > 0 && std::ssize(steps) > keep)
      for (size_t i = 0; i + static_cast<size_t>(keep) < steps.size(); ++i) fs::remove_all(steps[i].folder);
  } catch (const fs::filesystem_error& error) {
    status = fail("cannot save the checkpoint: {}", error.what());
  }
  std::error_code ignored;
  if (!status) fs::remove_all(saving, ignored);
  return status;
}

std::vector<CheckpointStore::Found> CheckpointStore::list() const {
  std::vector<Found> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder_, missing))
    if (const auto step = step_of(entry.path().filename().string())) found.push_back({*step, entry.path()});
  std::ranges::sort(found, {}, &Found::step);
  return found;
}

Result<std::optional<CheckpointStore::Found>> CheckpointStore::newest(
    std::vector<std::string>* damaged) const {
  auto found = list();
  for (; !found.empty(); found.pop_back()) {
    const auto status = verify_checkpoint(found.back().folder);
    if (status) return found.back();
    if (damaged != nullptr) damaged->push_back(status.error().message);
  }
  return std::nullopt;
}

Status CheckpointStore::remove_after(int64_t step) {
  std::error_code error;
  std::vector<fs::path> doomed;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kSaving) || step_of(name).value_or(-1) > step) doomed.push_back(entry.path());
  }
  for (const auto& path : doomed)
    if (fs::remove_all(path, error); error)
      return fail("{}: cannot remove: {}", path.string(), error.message());
  return {};
}

Status verify_checkpoint(const fs::path& folder) {
  const std::string name = (folder / kManifest).string();
  auto manifest = formats::read_json_file(folder / kManifest);
  if (!manifest) return pass(manifest);
  if (!manifest->is_object() || !manifest->contains("files") || !(*manifest)["files"].is_object())
    return fail("{}: expected an object \"files\"", name);
  for (const auto& [file, entry] : (*manifest)["files"].items()) {
    const fs::path path = folder / file;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) return fail("{}: missing or unreadable", path.string());
    if (!entry.is_object() || entry.value("bytes", Json()) != Json(bytes))
      return fail("{}: has {} bytes, not those that its manifest says", path.string(), bytes);
    auto hash = formats::sha256_file(path);
    if (!hash) return pass(hash);
    if (entry.value("sha256", Json()) != Json(*hash))
      return fail("{}: its SHA-256 is not that of its manifest", path.string());
  }
  return {};
}

}  // namespace nereus::runtime
