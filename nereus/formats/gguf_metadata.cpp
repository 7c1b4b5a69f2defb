#include "nereus/formats/gguf_metadata.h"

#include <optional>
#include <utility>

namespace nereus::formats {
namespace {

/// Types of metadata values, as numbered in the file.
enum class ValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// Least bytes of one value in an array: bounds an array's count before anything is allocated.
std::optional<uint64_t> min_bytes(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64:
    case ValueType::string:
      return 8;
    case ValueType::array:
      break;
  }
  return std::nullopt;
}

template <class T>
Result<Json> number(ByteReader& reader) {
  const auto value = reader.number<T>();
  if (!value) return pass(value);
  return Json(*value);
}

Result<Json> scalar(ByteReader& reader, ValueType type) {
  switch (type) {
    case ValueType::u8:
      return number<uint8_t>(reader);
    case ValueType::i8:
      return number<int8_t>(reader);
    case ValueType::u16:
      return number<uint16_t>(reader);
    case ValueType::i16:
      return number<int16_t>(reader);
    case ValueType::u32:
      return number<uint32_t>(reader);
    case ValueType::i32:
      return number<int32_t>(reader);
    case ValueType::f32:
      return number<float>(reader);
    case ValueType::u64:
      return number<uint64_t>(reader);
    case ValueType::i64:
      return number<int64_t>(reader);
    case ValueType::f64:
      return number<double>(reader);
    case ValueType::boolean: {
      const auto value = reader.number<uint8_t>();
      if (!value) return pass(value);
      return Json(*value != 0);
    }
    case ValueType::string: {
      auto text = reader.text();
      if (!text) return pass(text);
      return Json(std::move(*text));
    }
    case ValueType::array:
      break;
  }
  return reader.error(fmt::format("unknown value type {}", static_cast<uint32_t>(type)));
}

Result<Json> array(ByteReader& reader) {
  const auto type = reader.number<uint32_t>();
  if (!type) return pass(type);
  const auto least = min_bytes(static_cast<ValueType>(*type));
  if (!least) return reader.error(fmt::format("arrays of type {} are not supported", *type));
  const auto count = reader.count("array", *least);
  if (!count) return pass(count);
  Json::array_t values;
  values.reserve(*count);
  for (uint64_t i = 0; i < *count; ++i) {
    auto value = scalar(reader, static_cast<ValueType>(*type));
    if (!value) return value;
    values.push_back(std::move(*value));
  }
  return Json(std::move(values));
}

}  // namespace

Result<Json> read_gguf_metadata(ByteReader& reader, uint64_t count) {
  Json metadata = Json::object();
  for (uint64_t i = 0; i < count; ++i) {
    reader.set_context(fmt::format("metadata entry {}", i));
    const auto key = reader.text();
    if (!key) return pass(key);
    reader.set_context(fmt::format("key '{}'", *key));
    const auto type = reader.number<uint32_t>();
    if (!type) return pass(type);
    const auto kind = static_cast<ValueType>(*type);
    auto value = kind == ValueType::array ? array(reader) : scalar(reader, kind);
    if (!value) return value;
    if (!metadata.emplace(*key, std::move(*value)).second) return reader.error("stands twice");
  }
  return metadata;
}

}  // namespace nereus::formats
