#pragma once

#include <filesystem>
#include <utility>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// An exclusive lock on a file (flock), held until the object goes; a process that dies leaves none behind.
/// Not thread-safe.
class FileLock {
 public:
  /// Creates the file where it is missing. Error: another process holds the lock (its id is named).
  static Result<FileLock> take(const std::filesystem::path& file);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace nereus::runtime
