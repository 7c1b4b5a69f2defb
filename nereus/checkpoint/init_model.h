#pragma once

#include <cstdint>
#include <vector>

#include "nereus/checkpoint/named_tensor.h"
#include "nereus/spec/model_config.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {

/// Random weights of a new model, fp32: norms 1, everything else normal with deviation 0.02. Each tensor
/// has its own stream of (seed, place in the table), so that values depend on nothing else.
std::vector<NamedTensor> init_model(const spec::ModelConfig& config, uint64_t seed);
/// One of them; `place` is that of its spec in the table.
at::Tensor init_tensor(const spec::TensorSpec& spec, size_t place, uint64_t seed);

}  // namespace nereus::checkpoint
