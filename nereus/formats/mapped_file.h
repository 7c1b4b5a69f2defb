#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::formats {

/// The bytes of a file, mapped read-only (or owned, for bytes that come from elsewhere). Immutable, so
/// thread-safe; a file that another process shortens while it is mapped is beyond its care.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  static std::shared_ptr<const MappedFile> from_bytes(std::vector<std::byte> bytes);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const;

 private:
  MappedFile() = default;

  std::vector<std::byte> owned_;
  void* mapping_ = nullptr;
  std::span<const std::byte> bytes_;
};

/// Gives the memory of what was read back to the system; reading it again takes it from the file once more.
/// REQUIRES: bytes of an opened file, not of one made from bytes.
void forget_pages(std::span<const std::byte> mapped);

}  // namespace nereus::formats
