#include "nereus/formats/safetensors_writer.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "nereus/base/json.h"

namespace nereus::formats {
namespace {

constexpr size_t kHeaderAlignment = 8;

void sort_for_file(std::vector<TensorHeader>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorHeader& a, const TensorHeader& b) {
    const auto a_size = block_size(a.dtype).bytes, b_size = block_size(b.dtype).bytes;
    return a_size != b_size ? a_size > b_size : a.name < b.name;
  });
}

Status check(const std::vector<TensorHeader>& tensors, const std::string& source) {
  std::unordered_map<std::string_view, int> names;
  int64_t total = 0;
  for (const TensorHeader& tensor : tensors) {
    if (tensor.name == "__metadata__" || ++names[tensor.name] > 1) {
      return fail("{}: tensor '{}' is given twice", source, tensor.name);
    }
    if (block_size(tensor.dtype).elements != 1) {
      return fail("{}: tensor '{}': safetensors cannot hold {}", source, tensor.name,
                  dtype_name(tensor.dtype));
    }
    const auto bytes = tensor_bytes(tensor.dtype, tensor.shape);
    if (!bytes || *bytes > std::numeric_limits<int64_t>::max() - total) {
      return fail("{}: tensor '{}': shape {} overflows", source, tensor.name, shape_text(tensor.shape));
    }
    total += *bytes;
  }
  return {};
}

/// Length and JSON, padded with spaces so that the data is aligned.
std::string header_text(const std::vector<TensorHeader>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t begin = 0;
  // Appended to the underlying list: looking each name up first would be quadratic.
  auto& entries = header.get_ref<OrderedJson::object_t&>();
  for (const TensorHeader& tensor : tensors) {
    const int64_t end = begin + tensor_bytes(tensor.dtype, tensor.shape).value();
    entries.Container::emplace_back(tensor.name, OrderedJson{{"dtype", dtype_name(tensor.dtype)},
                                                             {"shape", tensor.shape},
                                                             {"data_offsets", {begin, end}}});
    begin = end;
  }
  std::string text = header.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    std::vector<TensorHeader> tensors,
                                                    const std::map<std::string, std::string>& metadata) {
  if (auto checked = check(tensors, path.string()); !checked) return pass(checked);
  sort_for_file(tensors);
  auto file = AtomicFile::create(path);
  if (!file) return pass(file);
  if (auto written = file->write(header_text(tensors, metadata)); !written) return pass(written);
  return SafetensorsWriter(path.string(), std::move(*file), std::move(tensors));
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (next_ == tensors_.size()) return fail("{}: more tensors than announced", source_);
  const TensorHeader& tensor = tensors_[next_];
  const int64_t expected = tensor_bytes(tensor.dtype, tensor.shape).value();
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return fail("{}: tensor '{}': {} bytes given, {} expected", source_, tensor.name, bytes.size(), expected);
  }
  ++next_;
  return file_.write(bytes);
}

Status SafetensorsWriter::finish() {
  if (next_ != tensors_.size()) return fail("{}: tensor '{}' was not written", source_, tensors_[next_].name);
  return file_.commit();
}

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const std::map<std::string, std::string>& metadata) {
  std::vector<TensorHeader> headers;
  std::unordered_map<std::string_view, const TensorView*> by_name;
  for (const TensorView& tensor : tensors) {
    headers.push_back({tensor.name, tensor.dtype, tensor.shape});
    by_name[tensor.name] = &tensor;
  }
  auto writer = SafetensorsWriter::create(path, std::move(headers), metadata);
  if (!writer) return pass(writer);
  for (const TensorHeader& next : writer->order()) {
    if (auto written = writer->append(by_name.at(next.name)->bytes); !written) return written;
  }
  return writer->finish();
}

}  // namespace nereus::formats
