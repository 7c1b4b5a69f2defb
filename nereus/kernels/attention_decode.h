#pragma once

#include "nereus/kernels/attention_kernels.h"

// Included only by files compiled once an instruction set. See AttentionKernels.
namespace nereus::kernels::NEREUS_ISA {

int64_t decode_scratch_floats(int64_t heads, int64_t head_dim);
void decode(const QueryTile* tiles, int64_t count, float* scratch);

}  // namespace nereus::kernels::NEREUS_ISA
