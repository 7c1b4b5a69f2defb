#include "nereus/formats/gguf.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "nereus/formats/byte_reader.h"
#include "nereus/formats/gguf_metadata.h"
#include "nereus/formats/mapped_file.h"

namespace nereus::formats {
namespace {

constexpr uint32_t kMagic = 0x46554747;           // "GGUF", little-endian
constexpr uint32_t kVersion3 = 3, kVersion2 = 2;  // 2 differs in nothing that is read here
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMinEntryBytes = 8 + 4 + 1;           // key length, type, value
constexpr uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;  // name length, dims, one size, type, offset
constexpr std::string_view kGgufTypes = "F32, F16, BF16, F64, I8, I16, I32, I64, Q8_0, Q4_0, Q4_1, Q6_K";

std::optional<DType> tensor_type(uint32_t id) {
  switch (id) {
    case 0:
      return DType::f32;
    case 1:
      return DType::f16;
    case 2:
      return DType::q4_0;
    case 3:
      return DType::q4_1;
    case 8:
      return DType::q8_0;
    case 14:
      return DType::q6_k;
    case 24:
      return DType::i8;
    case 25:
      return DType::i16;
    case 26:
      return DType::i32;
    case 27:
      return DType::i64;
    case 28:
      return DType::f64;
    case 30:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

/// Names of types that files have and this reader does not, for the error.
std::string type_name(uint32_t id) {
  switch (id) {
    case 6:
      return "Q5_0";
    case 7:
      return "Q5_1";
    case 9:
      return "Q8_1";
    case 10:
      return "Q2_K";
    case 11:
      return "Q3_K";
    case 12:
      return "Q4_K";
    case 13:
      return "Q5_K";
    case 15:
      return "Q8_K";
    default:
      return fmt::format("number {}", id);
  }
}

/// A tensor's entry, with its place still unchecked against the data.
struct Entry {
  TensorView view;
  uint64_t offset = 0, size = 0;
};

Result<std::vector<int64_t>> read_shape(ByteReader& reader) {
  const auto dims = reader.number<uint32_t>();
  if (!dims) return pass(dims);
  if (*dims < 1 || *dims > kMaxDims)
    return reader.error(fmt::format("{} dims; expected 1 to {}", *dims, kMaxDims));
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < *dims; ++i) {
    const auto size = reader.number<int64_t>();
    if (!size) return pass(size);
    shape.insert(shape.begin(), *size);  // the file has the fastest dim first
  }
  return shape;
}

Result<Entry> read_entry(ByteReader& reader, uint64_t number) {
  reader.set_context(fmt::format("tensor {}", number));
  auto name = reader.text();
  if (!name) return pass(name);
  reader.set_context(fmt::format("tensor '{}'", *name));
  auto shape = read_shape(reader);
  if (!shape) return pass(shape);
  const auto id = reader.number<uint32_t>();
  if (!id) return pass(id);
  const auto type = tensor_type(*id);
  if (!type) {
    return reader.error(
        fmt::format("type {} is not supported; expected one of {}", type_name(*id), kGgufTypes));
  }
  const auto offset = reader.number<uint64_t>();
  if (!offset) return pass(offset);
  const auto size = tensor_bytes(*type, *shape);
  if (!size) {
    return reader.error(fmt::format("shape {} of {}: negative, too large, or rows that are no multiple of {}",
                                    shape_text(*shape), dtype_name(*type), block_size(*type).elements));
  }
  return Entry{{std::move(*name), *type, std::move(*shape), {}}, *offset, static_cast<uint64_t>(*size)};
}

Result<std::vector<Entry>> read_entries(ByteReader& reader, uint64_t count) {
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    auto entry = read_entry(reader, i);
    if (!entry) return pass(entry);
    if (!names.insert(entry->view.name).second) return reader.error("stands twice");
    entries.push_back(std::move(*entry));
  }
  return entries;
}

Result<uint64_t> read_alignment(const Json& metadata, std::string_view source) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return kDefaultAlignment;
  const uint64_t value = found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  if (value == 0 || (value & (value - 1)) != 0 || value > (uint64_t{1} << 31U)) {
    return fail("{}: key 'general.alignment': expected a power of two, found {}", source,
                found->dump(-1, ' ', true));
  }
  return value;
}

Status place(std::vector<Entry>& entries, std::span<const std::byte> data, uint64_t alignment,
             std::string_view source) {
  for (Entry& entry : entries) {
    if (entry.offset % alignment != 0) {
      return fail("{}: tensor '{}': offset {} is no multiple of {}", source, entry.view.name, entry.offset,
                  alignment);
    }
    if (entry.offset > data.size() || entry.size > data.size() - entry.offset) {
      return fail(
          "{}: tensor '{}': {} bytes at offset {} reach beyond the {} bytes of data in the file (truncated?)",
          source, entry.view.name, entry.size, entry.offset, data.size());
    }
    entry.view.bytes = data.subspan(entry.offset, entry.size);
  }
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->offset, a->size) < std::pair(b->offset, b->size);
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->size) {
      return fail("{}: tensor '{}' overlaps '{}'", source, sorted[i]->view.name, sorted[i - 1]->view.name);
    }
  }
  return {};
}

Status read_magic(ByteReader& reader, std::string_view source) {
  const auto magic = reader.number<uint32_t>();
  if (!magic) return pass(magic);
  if (*magic != kMagic) return fail("{}: not a GGUF file: it does not begin with \"GGUF\"", source);
  const auto version = reader.number<uint32_t>();
  if (!version) return pass(version);
  if (*version != kVersion2 && *version != kVersion3) {
    return fail("{}: GGUF version {} is not supported; expected 3, little-endian", source, *version);
  }
  return {};
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return pass(file);
  return parse(std::move(*file), path.string());
}

Result<GgufFile> GgufFile::parse(std::shared_ptr<const MappedFile> file, std::string source) {
  ByteReader reader(file->bytes(), source);
  if (auto magic = read_magic(reader, source); !magic) return pass(magic);
  const auto tensors = reader.count("tensor", kMinTensorBytes);
  if (!tensors) return pass(tensors);
  const auto entries = reader.count("metadata", kMinEntryBytes);
  if (!entries) return pass(entries);
  auto metadata = read_gguf_metadata(reader, *entries);
  if (!metadata) return pass(metadata);
  auto places = read_entries(reader, *tensors);
  if (!places) return pass(places);
  const auto alignment = read_alignment(*metadata, source);
  if (!alignment) return pass(alignment);
  const auto data = reader.data_after(*alignment);
  if (auto placed = place(*places, data, *alignment, source); !placed) return pass(placed);

  GgufFile result;
  for (Entry& entry : *places) result.tensors_.push_back(std::move(entry.view));
  result.metadata_ = std::move(*metadata);
  result.file_ = std::move(file);
  result.source_ = std::move(source);
  return result;
}

const TensorView* GgufFile::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const TensorView& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace nereus::formats
