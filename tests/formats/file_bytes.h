#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/formats/mapped_file.h"

namespace nereus::test {

/// Bytes of a made-up file, put together field by field, so that each field can lie.
class FileBytes {
 public:
  template <class T>
  FileBytes& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  FileBytes& u32(uint32_t value) { return number(value); }
  FileBytes& u64(uint64_t value) { return number(value); }
  FileBytes& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  FileBytes& text(std::string_view value) { return u64(value.size()).raw(value); }
  FileBytes& zeros(size_t count) { return raw(std::string(count, '\0')); }
  FileBytes& align(size_t alignment) { return zeros((alignment - bytes_.size() % alignment) % alignment); }

  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A safetensors file with this header and data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return FileBytes().text(header).raw(data).str();
}

inline std::shared_ptr<const formats::MappedFile> mapped(std::string_view bytes) {
  std::vector<std::byte> copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return formats::MappedFile::from_bytes(std::move(copy));
}

}  // namespace nereus::test
