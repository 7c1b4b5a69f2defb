#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/checkpoint/named_tensor.h"
#include "nereus/checkpoint/source.h"
#include "nereus/formats/tensor_view.h"
#include "nereus/spec/model_config.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {

/// Transformers' default size of a shard.
inline constexpr int64_t kShardBytes = 5'000'000'000;

/// Gives a tensor of a model when it is about to be written.
using TensorOf = std::function<Result<at::Tensor>(const spec::TensorSpec&)>;

/// Writes a folder that Transformers loads: weights (model.safetensors, or shards with an index where they
/// exceed `shard_bytes`), generation_config.json, config.json, and the tokenizer of `tokenizer_from` where
/// that is not null (copied from a folder, built from a GGUF file). `dtype` is f32, bf16 or f16; tensors are
/// asked for and converted one at a time, so that the model need not fit in memory. Each file is written
/// atomically and config.json last, so that a folder cut short is not taken for a model. Errors: those of
/// `tensor_of`; a tensor has another shape than its spec; the disk.
Status write_model(const std::filesystem::path& folder, const spec::ModelConfig& config,
                   const TensorOf& tensor_of, formats::DType dtype, const Source* tokenizer_from,
                   int64_t shard_bytes = kShardBytes);

/// Likewise of tensors in memory. Error, before anything is written: one is missing, unknown or has another
/// shape.
Status write_model(const std::filesystem::path& folder, const spec::ModelConfig& config,
                   const std::vector<NamedTensor>& tensors, formats::DType dtype,
                   const Source* tokenizer_from, int64_t shard_bytes = kShardBytes);

}  // namespace nereus::checkpoint
