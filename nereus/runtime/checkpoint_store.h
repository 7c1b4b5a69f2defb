#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// The checkpoints of a run: `step-00000012/` folders with a manifest of sizes and SHA-256 digests. A
/// checkpoint appears whole or not at all. Not thread-safe; the run's lock keeps other processes out.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Found {
    int64_t step = 0;
    std::filesystem::path folder;
  };

  /// `fill` writes the files into a temporary folder, which is synced and then renamed. Afterwards the
  /// oldest ones beyond `keep` (0: none) are removed. On an error nothing is left of it.
  Status save(int64_t step, int64_t keep, const std::function<Status(const std::filesystem::path&)>& fill);

  /// The newest checkpoint that agrees with its manifest; nothing where there is none. Damaged ones are
  /// passed over and listed in `damaged` with what is wrong.
  Result<std::optional<Found>> newest(std::vector<std::string>* damaged = nullptr) const;

  /// Removes what an interrupted save left behind, and checkpoints after `step`.
  Status remove_after(int64_t step);

  /// Steps whose folders exist, oldest first; not verified.
  std::vector<Found> list() const;

 private:
  std::filesystem::path folder_;
};

/// Compares a checkpoint's files with its manifest; the error names the file and the difference.
Status verify_checkpoint(const std::filesystem::path& folder);

}  // namespace nereus::runtime
