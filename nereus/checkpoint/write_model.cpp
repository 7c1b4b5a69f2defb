#include "nereus/checkpoint/write_model.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "nereus/checkpoint/to_dtype.h"
#include "nereus/checkpoint/tokenizer_files.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors_writer.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {
namespace {

using TensorByName = std::unordered_map<std::string, at::Tensor>;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// The files of the weights, and the tensors in each.
struct Shards {
  std::vector<std::vector<formats::TensorHeader>> tensors;
  int64_t bytes = 0, parameters = 0;

  std::string file(size_t i) const {
    return tensors.size() == 1 ? kSingleFile
                               : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, tensors.size());
  }
};

Status check_shape(const spec::TensorSpec& spec, const at::Tensor& tensor,
                   const std::filesystem::path& folder) {
  if (tensor.sizes() == at::IntArrayRef(spec.shape)) return {};
  return fail("{}: tensor '{}' has shape {}; the configuration makes it {}", folder.string(), spec.name,
              formats::shape_text({tensor.sizes().begin(), tensor.sizes().end()}),
              formats::shape_text(spec.shape));
}

Result<TensorByName> match_tensors(const std::vector<spec::TensorSpec>& table,
                                   const std::vector<NamedTensor>& tensors,
                                   const std::filesystem::path& folder) {
  TensorByName given;
  for (const auto& [name, tensor] : tensors) {
    if (!given.emplace(name, tensor).second)
      return fail("{}: tensor '{}' is given twice", folder.string(), name);
  }
  for (const auto& spec : table) {
    const auto found = given.find(spec.name);
    if (found == given.end())
      return fail("{}: tensor '{}' of the model is not given", folder.string(), spec.name);
    if (auto fits = check_shape(spec, found->second, folder); !fits) return pass(fits);
  }
  if (given.size() == table.size()) return given;
  std::set<std::string> known;
  for (const auto& spec : table) known.insert(spec.name);
  const auto extra =
      std::find_if(given.begin(), given.end(), [&](const auto& t) { return !known.contains(t.first); });
  return fail("{}: tensor '{}' is no tensor of the model", folder.string(), extra->first);
}

/// In file order, a new shard where the next tensor would exceed `limit`.
Shards plan_shards(const std::vector<spec::TensorSpec>& table, formats::DType dtype, int64_t limit) {
  Shards shards;
  int64_t used = 0;
  for (const auto& spec : table) {
    const int64_t bytes = spec.elements() * formats::block_size(dtype).bytes;
    if (shards.tensors.empty() || used + bytes > limit) {
      shards.tensors.emplace_back();
      used = 0;
    }
    shards.tensors.back().push_back({spec.name, dtype, spec.shape});
    used += bytes;
    shards.bytes += bytes;
    shards.parameters += spec.elements();
  }
  return shards;
}

Status write_shard(const std::filesystem::path& path, const std::vector<formats::TensorHeader>& headers,
                   const std::vector<spec::TensorSpec>& table, const TensorOf& tensor_of,
                   formats::DType dtype) {
  auto writer = formats::SafetensorsWriter::create(path, headers, {{"format", "pt"}});
  if (!writer) return pass(writer);
  for (const auto& header : writer->order()) {
    const auto& spec = *std::ranges::find(table, header.name, &spec::TensorSpec::name);
    const auto tensor = tensor_of(spec);
    if (!tensor) return pass(tensor);
    if (auto fits = check_shape(spec, *tensor, path.parent_path()); !fits) return fits;
    const at::Tensor converted = to_dtype(*tensor, dtype);
    if (auto written = writer->append(bytes_of(converted)); !written) return written;
  }
  return writer->finish();
}

Status write_index(const std::filesystem::path& folder, const Shards& shards) {
  OrderedJson map = OrderedJson::object();
  for (size_t i = 0; i < shards.tensors.size(); ++i) {
    for (const auto& header : shards.tensors[i]) map[header.name] = shards.file(i);
  }
  const OrderedJson metadata = {{"total_parameters", shards.parameters}, {"total_size", shards.bytes}};
  return formats::write_json_file(folder / kIndexFile, {{"metadata", metadata}, {"weight_map", map}});
}

/// Weights of an earlier model in the folder would be read in place of the new ones.
void remove_stale_weights(const std::filesystem::path& folder, const Shards& shards) {
  std::set<std::string> current = {shards.tensors.size() == 1 ? "" : kIndexFile};
  for (size_t i = 0; i < shards.tensors.size(); ++i) current.insert(shards.file(i));
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool weights = name.starts_with("model") && (name.ends_with(".safetensors") || name == kIndexFile);
    if (weights && !current.contains(name)) stale.push_back(entry.path());
  }
  std::error_code ignored;
  for (const auto& path : stale) std::filesystem::remove(path, ignored);
}

const char* torch_name(formats::DType dtype) {
  if (dtype == formats::DType::bf16) return "bfloat16";
  return dtype == formats::DType::f16 ? "float16" : "float32";
}

Status write_configs(const std::filesystem::path& folder, const spec::ModelConfig& config,
                     formats::DType dtype) {
  OrderedJson json = spec::config_to_json(config);
  OrderedJson generation = {{"_from_model_config", true}};
  for (const char* key : {"bos_token_id", "eos_token_id"}) generation[key] = json[key];
  if (auto written = formats::write_json_file(folder / "generation_config.json", generation); !written)
    return written;
  json["torch_dtype"] = torch_name(dtype);
  return formats::write_json_file(folder / "config.json", json);
}

}  // namespace

Status write_model(const std::filesystem::path& folder, const spec::ModelConfig& config,
                   const TensorOf& tensor_of, formats::DType dtype, const Source* tokenizer_from,
                   int64_t shard_bytes) {
  if (!torch_type(dtype)) {
    return fail("{}: weights cannot be written as {}; expected F32, BF16 or F16", folder.string(),
                formats::dtype_name(dtype));
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: cannot be created: {}", folder.string(), error.message());

  const auto table = spec::tensor_table(config);
  const Shards shards = plan_shards(table, dtype, shard_bytes);
  for (size_t i = 0; i < shards.tensors.size(); ++i) {
    auto written = write_shard(folder / shards.file(i), shards.tensors[i], table, tensor_of, dtype);
    if (!written) return written;
  }
  if (shards.tensors.size() > 1) {
    if (auto written = write_index(folder, shards); !written) return written;
  }
  remove_stale_weights(folder, shards);
  if (tokenizer_from != nullptr) {
    if (auto written = write_tokenizer_files(folder, *tokenizer_from); !written) return written;
  }
  return write_configs(folder, config, dtype);
}

Status write_model(const std::filesystem::path& folder, const spec::ModelConfig& config,
                   const std::vector<NamedTensor>& tensors, formats::DType dtype,
                   const Source* tokenizer_from, int64_t shard_bytes) {
  const auto given = match_tensors(spec::tensor_table(config), tensors, folder);
  if (!given) return pass(given);
  const TensorOf tensor_of = [&](const spec::TensorSpec& spec) { return given->at(spec.name); };
  return write_model(folder, config, tensor_of, dtype, tokenizer_from, shard_bytes);
}

}  // namespace nereus::checkpoint
