#pragma once

#include <cstdint>
#include <vector>

namespace nereus::kernels {

/// Instruction sets for which the kernels are compiled: what the compiler's target always has, AVX2 with FMA
/// (x86-64-v3), and AVX-512 F, BW, DQ and VL (x86-64-v4).
enum class Isa : uint8_t { baseline, avx2, avx512 };

/// Those that this processor runs, ascending; the first is `baseline`.
std::vector<Isa> supported_isas();

/// The highest that this processor runs and that ONEDNN_MAX_CPU_ISA, where set, allows.
Isa best_isa();

/// The highest that oneDNN uses here (defined beside the matrix products).
Isa product_isa();

const char* name(Isa isa);

}  // namespace nereus::kernels
