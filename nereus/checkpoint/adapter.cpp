#include "nereus/checkpoint/adapter.h"

#include <ATen/ops/matmul.h>

#include <cmath>
#include <system_error>

#include "nereus/checkpoint/to_dtype.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors_writer.h"

namespace nereus::checkpoint {
namespace {

/// LoRA alpha as PEFT writes it: an integer where it is one.
OrderedJson number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

OrderedJson adapter_config(const Adapter& adapter, std::string_view base_model) {
  return {{"alpha_pattern", OrderedJson::object()},
          {"base_model_name_or_path", base_model},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"inference_mode", true},
          {"lora_alpha", number(adapter.alpha)},
          {"lora_dropout", 0.0},
          {"modules_to_save", nullptr},
          {"peft_type", "LORA"},
          {"r", adapter.rank},
          {"rank_pattern", OrderedJson::object()},
          {"target_modules", adapter.target_modules},
          {"task_type", "CAUSAL_LM"},
          {"use_dora", false},
          {"use_rslora", adapter.rslora}};
}

/// Views of A and B under PEFT's names; `kept` owns what was converted to be written.
Result<std::vector<formats::TensorView>> adapter_views(const Adapter& adapter, const std::string& source,
                                                       std::vector<at::Tensor>& kept) {
  std::vector<formats::TensorView> views;
  for (const auto& [path, pair] : adapter.modules) {
    for (const auto& [suffix, tensor] : {std::pair("lora_A", pair.first), std::pair("lora_B", pair.second)}) {
      const auto type = file_type(tensor.scalar_type());
      if (!type) return fail("{}: {} of '{}': expected float, bfloat16 or half", source, suffix, path);
      kept.push_back(to_dtype(tensor, *type));
      views.push_back({fmt::format("base_model.model.{}.{}.weight", path, suffix),
                       *type,
                       {tensor.sizes().begin(), tensor.sizes().end()},
                       bytes_of(kept.back())});
    }
  }
  return views;
}

Status check_factors(const std::string& path, const at::Tensor& a, const at::Tensor& b,
                     const at::Tensor& weight) {
  if (weight.dim() != 2 || a.dim() != 2 || b.dim() != 2 || a.size(0) != b.size(1) ||
      b.size(0) != weight.size(0) || a.size(1) != weight.size(1)) {
    return fail("adapter module '{}': A and B do not fit the weight", path);
  }
  return {};
}

}  // namespace

double Adapter::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rslora ? std::sqrt(r) : r);
}

Status write_adapter(const std::filesystem::path& folder, const Adapter& adapter,
                     std::string_view base_model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: cannot be created: {}", folder.string(), error.message());
  const auto path = folder / "adapter_model.safetensors";
  std::vector<at::Tensor> kept;
  const auto views = adapter_views(adapter, path.string(), kept);
  if (!views) return pass(views);
  if (auto written = formats::write_safetensors(path, *views, {{"format", "pt"}}); !written) return written;
  return formats::write_json_file(folder / "adapter_config.json", adapter_config(adapter, base_model));
}

Status merge_module(const NamedTensor& weight, const Adapter& adapter) {
  const std::string path = weight.name.substr(0, weight.name.rfind(".weight"));
  const auto module = adapter.modules.find(path);
  if (module == adapter.modules.end()) return {};
  const auto& [a, b] = module->second;
  if (auto fits = check_factors(path, a, b, weight.tensor); !fits) return fits;
  at::Tensor merged = weight.tensor.detach();
  // [out, rank] · [rank, in]
  merged.add_(at::matmul(b.detach().to(at::kFloat), a.detach().to(at::kFloat)), adapter.scale());
  return {};
}

}  // namespace nereus::checkpoint
