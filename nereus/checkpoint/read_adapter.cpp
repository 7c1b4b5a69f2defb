#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <set>

#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/dequantize.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "nereus/spec/config_reader.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {
namespace {

using Modules = std::map<std::string, std::vector<int64_t>>;  // path -> [out, in]

constexpr int64_t kMaxRank = 1 << 16;

Modules linear_modules(const spec::ModelConfig& config) {
  Modules modules;
  for (const auto& spec : spec::tensor_table(config)) {
    if (spec.linear()) modules[spec.name.substr(0, spec.name.rfind('.'))] = spec.shape;
  }
  return modules;
}

/// Features of PEFT that change what an adapter does and that are not implemented: each must be absent,
/// false or empty.
void refuse_unsupported(const Json& json, spec::ConfigReader& reader) {
  for (const char* key : {"use_dora", "modules_to_save", "rank_pattern", "alpha_pattern", "fan_in_fan_out",
                          "lora_bias", "use_qalora", "alora_invocation_tokens", "layer_replication",
                          "target_parameters", "trainable_token_indices", "use_bdlora"}) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null() || *found == false ||
        (found->is_structured() && found->empty())) {
      continue;
    }
    reader.refuse(
        key, fmt::format("{} is not supported", found->dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
  const std::string bias = reader.text("bias", "none");
  if (bias != "none") reader.refuse("bias", fmt::format("'{}' is not supported; expected 'none'", bias));
}

/// Initialisations that also change the base's weights: such an adapter does not fit the plain base.
void refuse_changed_base(const Json& json, spec::ConfigReader& reader) {
  const auto found = json.find("init_lora_weights");
  if (found == json.end() || !found->is_string()) return;
  const auto name = found->get<std::string>();
  for (const char* prefix : {"pissa", "olora", "corda", "loftq", "lora_ga"}) {
    if (name.starts_with(prefix))
      reader.refuse("init_lora_weights", fmt::format("'{}' is not supported: it changes the base", name));
  }
}

/// The listed names; none where PEFT was given a pattern, and the tensors then say which modules there are.
std::vector<std::string> target_modules(const Json& json, spec::ConfigReader& reader) {
  const auto found = json.find("target_modules");
  if (found == json.end() || found->is_null() || found->is_string()) return {};
  std::vector<std::string> names;
  if (!found->is_array()) reader.refuse("target_modules", "expected a list of module names");
  for (const Json& name : *found) {
    if (!name.is_string()) {
      reader.refuse("target_modules", "expected a list of module names");
      return {};
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

Result<Adapter> read_adapter_config(const std::filesystem::path& path) {
  const auto json = formats::read_json_file(path);
  if (!json) return pass(json);
  if (!json->is_object()) return fail("{}: expected a JSON object", path.string());
  const std::string source = path.string();
  spec::ConfigReader reader(*json, source);
  const std::string type = reader.text("peft_type", "");
  if (type != "LORA") reader.refuse("peft_type", fmt::format("'{}' is not supported; expected 'LORA'", type));
  refuse_unsupported(*json, reader);
  refuse_changed_base(*json, reader);
  Adapter adapter;
  adapter.rank = reader.size("r", kMaxRank);
  adapter.alpha = reader.positive("lora_alpha");
  adapter.rslora = reader.flag("use_rslora", false);
  adapter.target_modules = target_modules(*json, reader);
  if (auto status = reader.status(); !status) return pass(status);
  return adapter;
}

/// A tensor's module and which of the two factors it is.
struct Place {
  std::string module;
  bool is_a = false;
};

/// Names that PEFT files carry: "base_model.model." + module + ".lora_A.weight"; without the prefix, or with
/// the adapter's name as in ".lora_A.default.weight", where a state dict was saved by hand.
std::optional<Place> parse_name(std::string_view name) {
  constexpr std::string_view kPrefix = "base_model.model.", kSuffix = ".weight", kDefault = ".default";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  if (name.ends_with(kDefault)) name.remove_suffix(kDefault.size());
  for (const std::string_view factor : {".lora_A", ".lora_B"}) {
    if (name.ends_with(factor)) {
      return Place{std::string(name.substr(0, name.size() - factor.size())), factor == ".lora_A"};
    }
  }
  return std::nullopt;
}

at::Tensor to_tensor(const formats::TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::kFloat);
  dequantize(view.dtype, view.bytes, {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())});
  return tensor;
}

Status add_tensor(Adapter& adapter, const formats::TensorView& view, const Modules& modules,
                  const std::string& source) {
  const auto place = parse_name(view.name);
  if (!place) {
    return fail(
        "{}: tensor '{}' is no LoRA factor of a linear layer; expected names as "
        "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
        source, view.name);
  }
  const auto found = modules.find(place->module);
  if (found == modules.end()) {
    return fail("{}: tensor '{}': the model has no linear layer '{}'", source, view.name, place->module);
  }
  const std::vector<int64_t> expected =
      place->is_a ? std::vector{adapter.rank, found->second[1]} : std::vector{found->second[0], adapter.rank};
  if (view.shape != expected) {
    return fail("{}: tensor '{}' has shape {}; rank {} and the model make it {}", source, view.name,
                formats::shape_text(view.shape), adapter.rank, formats::shape_text(expected));
  }
  if (!readable(view.dtype)) {
    return fail("{}: tensor '{}' has type {}; expected F32, BF16 or F16", source, view.name,
                formats::dtype_name(view.dtype));
  }
  auto& [a, b] = adapter.modules[place->module];
  at::Tensor& target = place->is_a ? a : b;
  if (target.defined()) return fail("{}: tensor '{}': its module has this factor twice", source, view.name);
  target = to_tensor(view);
  return {};
}

/// Whether any tensor belongs to the model: if none does, the adapter is of another model altogether.
Status check_any_match(const formats::SafetensorsFile& file, const Modules& modules) {
  const auto& tensors = file.tensors();
  const bool any = std::any_of(tensors.begin(), tensors.end(), [&](const formats::TensorView& view) {
    const auto place = parse_name(view.name);
    return place && modules.contains(place->module);
  });
  if (any) return {};
  return fail(
      "{}: no module of the adapter is in the model; the first of its {} tensors is '{}', expected names as "
      "base_model.model.{}.lora_A.weight",
      file.source(), tensors.size(), tensors.empty() ? "" : tensors.front().name, modules.begin()->first);
}

Status check_complete(const Adapter& adapter, const std::string& source) {
  for (const auto& [path, pair] : adapter.modules) {
    if (pair.first.defined() && pair.second.defined()) continue;
    return fail("{}: module '{}' lacks {}", source, path, pair.first.defined() ? "lora_B" : "lora_A");
  }
  return {};
}

void fill_target_modules(Adapter& adapter) {
  std::set<std::string> names;
  for (const auto& [path, pair] : adapter.modules) names.insert(path.substr(path.rfind('.') + 1));
  adapter.target_modules.assign(names.begin(), names.end());
}

}  // namespace

Result<Adapter> read_adapter(const std::filesystem::path& folder, const spec::ModelConfig& config) {
  auto adapter = read_adapter_config(folder / "adapter_config.json");
  if (!adapter) return adapter;
  const auto file = formats::SafetensorsFile::open(folder / "adapter_model.safetensors");
  if (!file) return pass(file);
  const Modules modules = linear_modules(config);
  if (auto match = check_any_match(*file, modules); !match) return pass(match);
  for (const auto& view : file->tensors()) {
    if (auto added = add_tensor(*adapter, view, modules, file->source()); !added) return pass(added);
  }
  if (auto complete = check_complete(*adapter, file->source()); !complete) return pass(complete);
  if (adapter->target_modules.empty()) fill_target_modules(*adapter);
  return adapter;
}

}  // namespace nereus::checkpoint
