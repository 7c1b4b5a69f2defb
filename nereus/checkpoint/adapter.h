#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/checkpoint/named_tensor.h"
#include "nereus/spec/model_config.h"

namespace nereus::checkpoint {

/// A LoRA adapter: W' = W + scale · B · A for each of its modules (Hu et al., 2021; rsLoRA: Kalajdzievski,
/// 2023). A plain value.
struct Adapter {
  int64_t rank = 0;
  double alpha = 0;
  bool rslora = false;
  std::vector<std::string> target_modules;  ///< "q_proj", ...
  /// Module path ("model.layers.0.self_attn.q_proj") to A [rank, in] and B [out, rank].
  std::map<std::string, std::pair<at::Tensor, at::Tensor>> modules;

  double scale() const;  ///< alpha / rank, or alpha / √rank with rsLoRA
};

/// Writes adapter_model.safetensors and then adapter_config.json as PEFT does, each atomically.
/// `base_model` goes to base_model_name_or_path. Tensors keep their type (f32, bf16 or f16).
Status write_adapter(const std::filesystem::path& folder, const Adapter& adapter,
                     std::string_view base_model);

/// Reads an adapter that PEFT or `write_adapter` wrote, in fp32. Errors name the key or the tensor: what is
/// not supported (DoRA, modules_to_save, rank_pattern, ...), a module that the model of `config` lacks or
/// that has another shape, an adapter without any module of the model.
Result<Adapter> read_adapter(const std::filesystem::path& folder, const spec::ModelConfig& config);

/// Adds scale · B · A to a weight in place (fp32, [out, in]), where the adapter has a module for it. Error:
/// the factors do not fit it.
Status merge_module(const NamedTensor& weight, const Adapter& adapter);

}  // namespace nereus::checkpoint
