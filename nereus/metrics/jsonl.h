#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::metrics {

/// Appends records to a JSON Lines file, one system call a record, so that a killed process leaves at most
/// one torn line and a reader may follow the file. Not thread-safe.
class JsonlWriter {
 public:
  /// Starts an empty file. Error: it exists already, or cannot be made.
  static Result<JsonlWriter> create(const std::filesystem::path& path);

  /// Opens a file to go on after step `last_step`: drops a torn last line, and the records from the first
  /// whose number "step" is greater; what follows then equals a run that was never interrupted. A missing
  /// file is made. Error: a whole line that is no object with an integer "step", named as FILE:LINE.
  static Result<JsonlWriter> resume(const std::filesystem::path& path, int64_t last_step);

  JsonlWriter(JsonlWriter&& other) noexcept;
  JsonlWriter& operator=(JsonlWriter&& other) noexcept;
  ~JsonlWriter();

  /// Appends one line. Error (e.g. a full disk): the file is as it was before, and the call may be repeated.
  Status write(const OrderedJson& record);

  /// Returns once all records are on the disk; called before a checkpoint that counts on them.
  Status sync();

  const std::filesystem::path& path() const { return path_; }

 private:
  JsonlWriter(std::filesystem::path path, int file, int64_t size)
      : path_(std::move(path)), file_(file), size_(size) {}
  Status undo_partial_line(int error);

  std::filesystem::path path_;
  int file_ = -1;
  int64_t size_ = 0;  // bytes of whole lines
};

}  // namespace nereus::metrics
