#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/formats/file_bytes.h"

namespace nereus::test {

// Numbers of the file format.
inline constexpr uint32_t kGgufU8 = 0, kGgufU32 = 4, kGgufI32 = 5, kGgufF32 = 6, kGgufBool = 7,
                          kGgufString = 8, kGgufArray = 9;
inline constexpr uint32_t kTensorF32 = 0, kTensorQ4_0 = 2, kTensorQ8_0 = 8, kTensorQ4_K = 12;

/// "GGUF", version and counts.
inline FileBytes gguf_header(uint32_t version, uint64_t tensors, uint64_t entries) {
  return FileBytes().raw("GGUF").u32(version).u64(tensors).u64(entries);
}

/// A well-formed GGUF file.
class GgufBuilder {
 public:
  GgufBuilder& text(std::string_view key, std::string_view value) {
    begin(key, kGgufString).text(value);
    return *this;
  }
  GgufBuilder& u32(std::string_view key, uint32_t value) {
    begin(key, kGgufU32).u32(value);
    return *this;
  }
  GgufBuilder& f32(std::string_view key, float value) {
    begin(key, kGgufF32).number(value);
    return *this;
  }
  GgufBuilder& flag(std::string_view key, bool value) {
    begin(key, kGgufBool).number(static_cast<uint8_t>(value));
    return *this;
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    begin(key, kGgufArray).u32(kGgufString).u64(values.size());
    for (const auto& value : values) entries_.text(value);
    return *this;
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<int32_t>& values) {
    begin(key, kGgufArray).u32(kGgufI32).u64(values.size());
    for (const int32_t value : values) entries_.number(value);
    return *this;
  }
  /// `shape` is row-major; the file has it the other way round.
  GgufBuilder& tensor(std::string_view name, uint32_t type, const std::vector<int64_t>& shape,
                      std::string_view data) {
    data_.align(32);
    tensors_.text(name).u32(static_cast<uint32_t>(shape.size()));
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) tensors_.number(*size);
    tensors_.u32(type).u64(data_.str().size());
    data_.raw(data);
    ++tensor_count_;
    return *this;
  }
  std::string build() const {
    return gguf_header(3, tensor_count_, entry_count_)
        .raw(entries_.str())
        .raw(tensors_.str())
        .align(32)
        .raw(data_.str())
        .str();
  }

 private:
  FileBytes& begin(std::string_view key, uint32_t type) {
    ++entry_count_;
    return entries_.text(key).u32(type);
  }

  FileBytes entries_, tensors_, data_;
  uint64_t entry_count_ = 0, tensor_count_ = 0;
};

}  // namespace nereus::test
