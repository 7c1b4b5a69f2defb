#include "nereus/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "nereus/base/json.h"

namespace nereus::formats {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as in the reference implementation
constexpr std::array kReadTypes = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i16,
                                   DType::i32, DType::i64, DType::f64,  DType::u8, DType::boolean};
constexpr std::string_view kSafetensorsTypes = "F32, F16, BF16, I8, I16, I32, I64, F64, U8, BOOL";

struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Result<Parts> split(const MappedFile& file, std::string_view source) {
  const auto bytes = file.bytes();
  if (bytes.size() < kLengthBytes) {
    return fail("{}: truncated: a safetensors file begins with 8 bytes of header length, this has {} bytes",
                source, bytes.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    return fail("{}: not a safetensors file: header length {} exceeds {}", source, length, kMaxHeaderBytes);
  }
  if (length > bytes.size() - kLengthBytes) {
    return fail("{}: truncated: the header should have {} bytes, the file has {} after its length", source,
                length, bytes.size() - kLengthBytes);
  }
  return Parts{file.text().substr(kLengthBytes, length), bytes.subspan(kLengthBytes + length)};
}

/// The first name that stands twice in the header. REQUIRES: `header` is valid JSON
std::optional<std::string> repeated_name(std::string_view header) {
  std::set<std::string> seen;
  std::optional<std::string> repeated;
  const Json ignored =
      Json::parse(header.begin(), header.end(), [&](int depth, Json::parse_event_t event, const Json& value) {
        if (event == Json::parse_event_t::key && depth == 1 && !repeated &&
            !seen.insert(value.get<std::string>()).second) {
          repeated = value.get<std::string>();
        }
        return true;
      });
  return repeated;
}

Result<Json> parse_header(std::string_view header, const std::string& source) {
  auto json = parse_json(header, source + ": header");
  if (!json) return json;
  if (!json->is_object()) return fail("{}: header: expected a JSON object", source);
  if (const auto name = repeated_name(header)) return fail("{}: tensor '{}' is listed twice", source, *name);
  return json;
}

Result<std::map<std::string, std::string>> parse_metadata(const Json& header, std::string_view source) {
  std::map<std::string, std::string> metadata;
  const auto found = header.find("__metadata__");
  if (found == header.end()) return metadata;
  if (!found->is_object()) return fail("{}: __metadata__: expected an object of strings", source);
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) return fail("{}: __metadata__.{}: expected a string", source, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Non-negative integers of the array `key`.
Result<std::vector<int64_t>> parse_sizes(const Json& entry, std::string_view key, const std::string& where) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return fail("{}: {}: expected an array", where, key);
  std::vector<int64_t> sizes;
  for (const Json& value : *found) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{1} << 62U) {
      return fail("{}: {}: expected non-negative integers, found {}", where, key, value.dump(-1, ' ', true));
    }
    sizes.push_back(value.get<int64_t>());
  }
  return sizes;
}

Result<DType> parse_type(const Json& entry, const std::string& where) {
  const auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) return fail("{}: dtype: expected a string", where);
  const auto name = found->get<std::string>();
  const auto* type =
      std::find_if(kReadTypes.begin(), kReadTypes.end(), [&](DType t) { return dtype_name(t) == name; });
  if (type == kReadTypes.end())
    return fail("{}: dtype '{}' is not supported; expected one of {}", where, name, kSafetensorsTypes);
  return *type;
}

Result<TensorView> parse_tensor(const std::string& name, const Json& entry, std::span<const std::byte> data,
                                std::string_view source) {
  const std::string where = fmt::format("{}: tensor '{}'", source, name);
  if (!entry.is_object()) return fail("{}: expected an object with dtype, shape and data_offsets", where);
  auto type = parse_type(entry, where);
  if (!type) return pass(type);
  auto shape = parse_sizes(entry, "shape", where);
  if (!shape) return pass(shape);
  auto range = parse_sizes(entry, "data_offsets", where);
  if (!range) return pass(range);
  const auto expected = tensor_bytes(*type, *shape);
  if (!expected) return fail("{}: shape {} overflows", where, shape_text(*shape));
  if (range->size() != 2 || (*range)[0] > (*range)[1]) {
    return fail("{}: data_offsets {}: expected [begin, end]", where, shape_text(*range));
  }
  const int64_t begin = (*range)[0], end = (*range)[1];
  if (end > static_cast<int64_t>(data.size())) {
    return fail("{}: data_offsets {} end beyond the {} bytes of data in the file (truncated?)", where,
                shape_text(*range), data.size());
  }
  if (end - begin != *expected) {
    return fail("{}: {} bytes of data, but shape {} of {} needs {}", where, end - begin, shape_text(*shape),
                dtype_name(*type), *expected);
  }
  return TensorView{name, *type, std::move(*shape),
                    data.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))};
}

/// Sorts the tensors by place, and checks that they fill the data exactly.
Status check_layout(std::vector<TensorView>& tensors, std::span<const std::byte> data,
                    std::string_view source) {
  // Empty tensors first where several begin at one place.
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  size_t end = 0;
  std::string_view before = "the header";
  for (const TensorView& tensor : tensors) {
    const auto begin = static_cast<size_t>(tensor.bytes.data() - data.data());
    if (begin < end) return fail("{}: tensor '{}' overlaps '{}'", source, tensor.name, before);
    if (begin > end) {
      return fail("{}: tensor '{}': {} bytes before it belong to no tensor", source, tensor.name,
                  begin - end);
    }
    end = begin + tensor.bytes.size();
    before = tensor.name;
  }
  if (end < data.size())
    return fail("{}: {} bytes at the end belong to no tensor", source, data.size() - end);
  return {};
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return pass(file);
  return parse(std::move(*file), path.string());
}

Result<SafetensorsFile> SafetensorsFile::parse(std::shared_ptr<const MappedFile> file, std::string source) {
  const auto parts = split(*file, source);
  if (!parts) return pass(parts);
  const auto header = parse_header(parts->header, source);
  if (!header) return pass(header);
  auto metadata = parse_metadata(*header, source);
  if (!metadata) return pass(metadata);

  SafetensorsFile result;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    auto tensor = parse_tensor(name, entry, parts->data, source);
    if (!tensor) return pass(tensor);
    result.tensors_.push_back(std::move(*tensor));
  }
  if (auto layout = check_layout(result.tensors_, parts->data, source); !layout) return pass(layout);
  for (size_t i = 0; i < result.tensors_.size(); ++i) result.index_[result.tensors_[i].name] = i;
  result.metadata_ = std::move(*metadata);
  result.file_ = std::move(file);
  result.source_ = std::move(source);
  return result;
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace nereus::formats
