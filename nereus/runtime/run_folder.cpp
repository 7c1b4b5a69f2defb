#include "nereus/runtime/run_folder.h"

#include <charconv>

#include "nereus/formats/atomic_file.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

Status remove_run(const fs::path& folder) {
  for (const char* name : {"metrics.jsonl", "evaluations.jsonl", "completions", "checkpoints", "adapter",
                           "model", "bucket", "job.toml"}) {
    std::error_code error;
    fs::remove_all(folder / name, error);
    if (error) return fail("{}: cannot remove: {}", (folder / name).string(), error.message());
  }
  return {};
}

std::string completions_name(int64_t step) {
  return fmt::format("step-{:08}.jsonl", step);
}

}  // namespace

Result<RunFolder> RunFolder::open(const fs::path& folder, OnExisting on_existing) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot create the run's folder: {}", folder.string(), error.message());
  auto lock = FileLock::take(folder / "lock");
  if (!lock) return pass(lock);
  bool existed = fs::exists(folder / "job.toml");
  if (existed && on_existing == OnExisting::refuse)
    return fail(
        "{}: holds a run already; --resume continues it, --overwrite replaces it, --run.name NAME starts "
        "another",
        folder.string());
  if (on_existing == OnExisting::overwrite) {
    if (auto status = remove_run(folder); !status) return pass(status);
    existed = false;
  }
  return RunFolder(fs::absolute(folder).lexically_normal(), std::move(*lock), existed);
}

Status RunFolder::write_completions(int64_t step, const std::vector<std::string>& lines) {
  const fs::path folder = path_ / "completions";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot create: {}", folder.string(), error.message());
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return formats::write_file_atomically(folder / completions_name(step), text);
}

Status RunFolder::remove_after(int64_t step) {
  std::error_code error;
  std::vector<fs::path> doomed;
  for (const auto& entry : fs::directory_iterator(path_ / "completions", error))
    if (entry.path().filename().string() > completions_name(step)) doomed.push_back(entry.path());
  for (const auto& path : doomed)
    if (fs::remove(path, error); error) return fail("{}: cannot remove: {}", path.string(), error.message());
  return checkpoints_.remove_after(step);
}

}  // namespace nereus::runtime
