#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/checkpoint/named_tensor.h"
#include "nereus/checkpoint/source.h"
#include "nereus/formats/tensor_view.h"
#include "nereus/spec/model_config.h"

namespace nereus::checkpoint {

/// Transformers' default size of a shard.
inline constexpr int64_t kShardBytes = 5'000'000'000;

/// Writes a folder that Transformers loads: weights (model.safetensors, or shards with an index where they
/// exceed `shard_bytes`), generation_config.json, config.json, and the tokenizer of `tokenizer_from` where
/// that is not null (copied from a folder, built from a GGUF file). `dtype` is f32, bf16 or f16; tensors are
/// converted one at a time. Each file is written atomically and config.json last, so that a folder cut short
/// is not taken for a model. Errors: a tensor of the model is missing, unknown or has another shape; the
/// disk.
Status write_model(const std::filesystem::path& folder, const spec::ModelConfig& config,
                   const std::vector<NamedTensor>& tensors, formats::DType dtype,
                   const Source* tokenizer_from, int64_t shard_bytes = kShardBytes);

}  // namespace nereus::checkpoint
