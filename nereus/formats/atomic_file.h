#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "nereus/base/result.h"

namespace nereus::formats {

/// Writes a file beside its place and moves it there when it is whole: a reader, or a machine that loses
/// power, sees the old file or the new one and nothing between. Without `commit`, and after an error such
/// as a full disk, nothing is left behind. Not thread-safe.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// Syncs the file, renames it to its place and syncs the folder. REQUIRES: called once.
  Status commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd);
  tl::unexpected<Error> failure(std::string_view action) const;

  std::filesystem::path path_, temporary_;
  int fd_;
  uint64_t written_ = 0;
};

/// The whole of a file at once, as AtomicFile does.
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Syncs a folder's entries to the disk: what was renamed in it stays renamed.
Status sync_folder(const std::filesystem::path& folder);

}  // namespace nereus::formats
