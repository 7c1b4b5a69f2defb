#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "nereus/formats/gguf.h"
#include "nereus/formats/mapped_file.h"

namespace nereus::text {

/// Writes the metadata of a GGUF v3 file without tensors, key by key.
class GgufBytes {
 public:
  GgufBytes& text(const std::string& key, const std::string& value) {
    begin(key, 8);
    put_text(value);
    return *this;
  }
  GgufBytes& number(const std::string& key, uint32_t value) {
    begin(key, 4);
    put(value);
    return *this;
  }
  GgufBytes& flag(const std::string& key, bool value) {
    begin(key, 7);
    put(static_cast<uint8_t>(value));
    return *this;
  }
  GgufBytes& texts(const std::string& key, const std::vector<std::string>& values) {
    begin_array(key, 8, values.size());
    for (const auto& value : values) put_text(value);
    return *this;
  }
  GgufBytes& numbers(const std::string& key, const std::vector<int32_t>& values) {
    begin_array(key, 5, values.size());
    for (const int32_t value : values) put(value);
    return *this;
  }

  Result<formats::GgufFile> file() const {
    std::string all = "GGUF";
    append(all, uint32_t{3});
    append(all, uint64_t{0});
    append(all, keys_);
    all += bytes_;
    all.resize((all.size() + 31) / 32 * 32);
    const auto* data = reinterpret_cast<const std::byte*>(all.data());
    return formats::GgufFile::parse(formats::MappedFile::from_bytes({data, data + all.size()}), "m.gguf");
  }

 private:
  template <class T>
  static void append(std::string& to, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    to.append(raw, sizeof(T));
  }
  template <class T>
  void put(T value) {
    append(bytes_, value);
  }
  void put_text(const std::string& value) {
    put(uint64_t{value.size()});
    bytes_ += value;
  }
  void begin(const std::string& key, uint32_t type) {
    ++keys_;
    put_text(key);
    put(type);
  }
  void begin_array(const std::string& key, uint32_t type, size_t count) {
    begin(key, 9);
    put(type);
    put(uint64_t{count});
  }

  std::string bytes_;
  uint64_t keys_ = 0;
};

}  // namespace nereus::text
