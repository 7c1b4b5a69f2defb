#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "nereus/base/result.h"

namespace nereus::formats {

/// Reads little-endian numbers and length-prefixed strings one after another, never beyond the end. Errors
/// name the source, the position and what was being read. Does not own the bytes. Not thread-safe.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string source)
      : bytes_(bytes), source_(std::move(source)) {}

  /// What is being read from here on, for errors: "key 'general.name'".
  void set_context(std::string context) { context_ = std::move(context); }
  tl::unexpected<Error> error(std::string_view what) const {
    return fail("{}: {} (byte {}): {}", source_, context_, position_, what);
  }

  template <class T>
  Result<T> number() {
    if (remaining() < sizeof(T)) return error("the file ends here (truncated)");
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A string after its 64-bit length.
  Result<std::string> text() {
    const auto length = number<uint64_t>();
    if (!length) return pass(length);
    if (*length > remaining()) {
      return error(fmt::format("a string of {} bytes, but {} remain in the file", *length, remaining()));
    }
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + position_);
    position_ += *length;
    return std::string(begin, *length);
  }

  /// A 64-bit count of items of at least `least` bytes each: refused where the file is too short for them.
  Result<uint64_t> count(std::string_view of, uint64_t least) {
    const auto value = number<uint64_t>();
    if (!value) return value;
    if (*value > remaining() / least) {
      return error(
          fmt::format("{} count {} does not fit in the remaining {} bytes", of, *value, remaining()));
    }
    return value;
  }

  /// What follows from the next multiple of `alignment` on. REQUIRES: alignment > 0
  std::span<const std::byte> data_after(uint64_t alignment) const {
    const uint64_t begin = (position_ + alignment - 1) / alignment * alignment;
    return begin < bytes_.size() ? bytes_.subspan(begin) : std::span<const std::byte>();
  }

 private:
  size_t remaining() const { return bytes_.size() - position_; }

  std::span<const std::byte> bytes_;
  std::string source_;
  std::string context_ = "header";
  size_t position_ = 0;
};

}  // namespace nereus::formats
