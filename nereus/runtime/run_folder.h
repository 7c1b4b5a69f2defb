#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/runtime/checkpoint_store.h"
#include "nereus/runtime/file_lock.h"

namespace nereus::runtime {

/// What to do where the run's folder already holds a run.
enum class OnExisting : uint8_t { refuse, resume, overwrite };

/// `runs/NAME/`: job.toml (everything that decided the run), metrics.jsonl, completions/, checkpoints/ and
/// the result (adapter/ or model/). Locked against a second process while it lives. Not thread-safe.
class RunFolder {
 public:
  /// Creates the folder and takes its lock. Error: it holds a run and `on_existing` is refuse; another
  /// process uses it. `overwrite` removes the old run's files and nothing else.
  static Result<RunFolder> open(const std::filesystem::path& folder, OnExisting on_existing);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path job_file() const { return path_ / "job.toml"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path evaluations_file() const { return path_ / "evaluations.jsonl"; }
  std::filesystem::path adapter() const { return path_ / "adapter"; }
  std::filesystem::path model() const { return path_ / "model"; }
  std::filesystem::path bucket() const { return path_ / "bucket"; }
  CheckpointStore& checkpoints() { return checkpoints_; }

  /// Whether it held a run when it was opened.
  bool existed() const { return existed_; }

  /// Writes `completions/step-00000012.jsonl`, one line a completion, as a whole.
  Status write_completions(int64_t step, const std::vector<std::string>& lines);

  /// Removes what steps after `step` wrote: a resumed run writes them again. Metrics are cut by their own
  /// writer.
  Status remove_after(int64_t step);

 private:
  RunFolder(std::filesystem::path path, FileLock lock, bool existed)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        checkpoints_(path_ / "checkpoints"),
        existed_(existed) {}

  std::filesystem::path path_;
  FileLock lock_;
  CheckpointStore checkpoints_;
  bool existed_;
};

}  // namespace nereus::runtime
