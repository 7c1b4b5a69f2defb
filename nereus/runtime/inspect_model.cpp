#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "nereus/formats/gguf.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "nereus/runtime/model_jobs.h"
#include "nereus/spec/model_config.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

/// A checkpoint's headers.
struct Contents {
  std::string kind;
  OrderedJson config;  ///< config.json, adapter_config.json, or the same from GGUF; null where there is none
  std::vector<formats::TensorView> tensors;  ///< names, types and shapes; bytes are not valid any more
};

Status add_safetensors(Contents& contents, const fs::path& file) {
  auto opened = formats::SafetensorsFile::open(file);
  if (!opened) return pass(opened);
  for (auto tensor : opened->tensors()) contents.tensors.push_back(std::move(tensor));
  return {};
}

Result<Contents> read_gguf(const fs::path& file) {
  auto opened = formats::GgufFile::open(file);
  if (!opened) return pass(opened);
  auto config = spec::config_from_gguf(*opened);
  if (!config) return pass(config);
  return Contents{"GGUF file", spec::config_to_json(*config), opened->tensors()};
}

Result<Contents> read_folder(const fs::path& folder) {
  std::error_code error;
  const bool adapter = fs::exists(folder / "adapter_config.json", error);
  Contents contents{adapter ? "PEFT adapter" : "Hugging Face folder", nullptr, {}};
  auto config = formats::read_json_file(folder / (adapter ? "adapter_config.json" : "config.json"));
  if (!config) return pass(config);
  contents.config = OrderedJson(*config);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files)
    if (auto status = add_safetensors(contents, file); !status) return pass(status);
  if (contents.tensors.empty()) return fail("{}: has no .safetensors file with tensors", folder.string());
  return contents;
}

Result<Contents> read_contents(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return read_folder(path);
  if (!fs::exists(path, error)) return fail("{}: no such file or folder", path.string());
  if (path.extension() == ".gguf") return read_gguf(path);
  Contents contents{"safetensors file", nullptr, {}};
  if (auto status = add_safetensors(contents, path); !status) return pass(status);
  return contents;
}

int64_t parameters(const Contents& contents) {
  int64_t sum = 0;
  for (const auto& tensor : contents.tensors) sum += tensor.elements();
  return sum;
}

/// Tensors and bytes by element type.
std::map<std::string, std::pair<int64_t, uint64_t>> by_type(const Contents& contents) {
  std::map<std::string, std::pair<int64_t, uint64_t>> types;
  for (const auto& tensor : contents.tensors) {
    auto& [count, bytes] = types[std::string(formats::dtype_name(tensor.dtype))];
    ++count;
    bytes += tensor.bytes.size();
  }
  return types;
}

OrderedJson contents_json(const Contents& contents, bool tensors) {
  OrderedJson json = {
      {"kind", contents.kind}, {"parameters", parameters(contents)}, {"config", contents.config}};
  for (const auto& [type, sums] : by_type(contents))
    json["types"][type] = {{"tensors", sums.first}, {"bytes", sums.second}};
  if (!tensors) return json;
  for (const auto& tensor : contents.tensors)
    json["tensors"].push_back(
        {{"name", tensor.name}, {"dtype", formats::dtype_name(tensor.dtype)}, {"shape", tensor.shape}});
  return json;
}

void print(const Contents& contents, bool tensors, std::ostream& out) {
  out << fmt::format("{}, {:.2f} M parameters in {} tensors\n", contents.kind,
                     static_cast<double>(parameters(contents)) / 1e6, contents.tensors.size());
  for (const auto& [type, sums] : by_type(contents))
    out << fmt::format("  {:<5} {:>5} tensors {:>10.2f} MB\n", type, sums.first,
                       static_cast<double>(sums.second) / 1e6);
  if (contents.config.is_object())
    for (const auto& [key, value] : contents.config.items())
      out << fmt::format("  {}: {}\n", key, value.dump());
  if (!tensors) return;
  for (const auto& tensor : contents.tensors)
    out << fmt::format("{} {} [{}]\n", tensor.name, formats::dtype_name(tensor.dtype),
                       fmt::join(tensor.shape, ", "));
}

}  // namespace

Status inspect_model(const InspectCommand& command, std::ostream& out) {
  auto contents = read_contents(command.path);
  if (!contents) return pass(contents);
  if (command.json)
    out << contents_json(*contents, command.tensors).dump(1) << "\n";
  else
    print(*contents, command.tensors, out);
  return {};
}

}  // namespace nereus::runtime
