#include "nereus/train/state_file.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cstring>

#include "nereus/formats/safetensors.h"
#include "nereus/formats/safetensors_writer.h"

namespace nereus::train {
namespace {

Status check_tensor(const formats::SafetensorsFile& file, const checkpoint::NamedTensor& wanted) {
  const formats::TensorView* found = file.find(wanted.name);
  if (!found) return fail("{}: tensor '{}' is missing", file.source(), wanted.name);
  const std::vector<int64_t> shape = wanted.tensor.sizes().vec();
  if (found->dtype != formats::DType::f32 || found->shape != shape)
    return fail("{}: tensor '{}' is {} [{}]; expected F32 [{}]", file.source(), wanted.name,
                formats::dtype_name(found->dtype), fmt::join(found->shape, ", "), fmt::join(shape, ", "));
  return {};
}

Result<double> counter(const formats::SafetensorsFile& file, const std::string& name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end()) return fail("{}: metadata has no '{}'", file.source(), name);
  double value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || stop != end)
    return fail("{}: metadata '{}' is '{}'; expected a number", file.source(), name, found->second);
  return value;
}

}  // namespace

Status write_state(const std::filesystem::path& path, const std::vector<checkpoint::NamedTensor>& tensors,
                   const std::map<std::string, std::string>& counters) {
  std::vector<at::Tensor> alive;  // contiguous copies, where one was needed
  std::vector<formats::TensorView> views;
  for (const checkpoint::NamedTensor& t : tensors) {
    alive.push_back(t.tensor.contiguous());
    const at::Tensor& data = alive.back();
    views.push_back(
        {t.name,
         formats::DType::f32,
         data.sizes().vec(),
         {static_cast<const std::byte*>(data.const_data_ptr()), static_cast<size_t>(data.nbytes())}});
  }
  return formats::write_safetensors(path, views, counters);
}

Result<std::vector<double>> read_state(const std::filesystem::path& path,
                                       const std::vector<checkpoint::NamedTensor>& tensors,
                                       const std::vector<std::string>& counters) {
  auto file = formats::SafetensorsFile::open(path);
  if (!file) return pass(file);
  if (file->tensors().size() != tensors.size())
    return fail("{}: holds {} tensors; the job needs {} (another kind of training or adapter?)",
                file->source(), file->tensors().size(), tensors.size());
  for (const checkpoint::NamedTensor& t : tensors)
    if (auto status = check_tensor(*file, t); !status) return pass(status);
  std::vector<double> values;
  for (const std::string& name : counters) {
    auto value = counter(*file, name);
    if (!value) return pass(value);
    values.push_back(*value);
  }
  for (const checkpoint::NamedTensor& t : tensors)
    std::memcpy(t.tensor.data_ptr(), file->find(t.name)->bytes.data(), file->find(t.name)->bytes.size());
  return values;
}

}  // namespace nereus::train
