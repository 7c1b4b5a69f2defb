#include "nereus/kernels/isa.h"

#include <algorithm>

namespace nereus::kernels {

std::vector<Isa> supported_isas() {
  std::vector<Isa> found{Isa::baseline};
#ifdef __x86_64__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx2) return found;
  found.push_back(Isa::avx2);
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) found.push_back(Isa::avx512);
#endif
  return found;
}

Isa best_isa() {
  static const Isa best = std::min(supported_isas().back(), product_isa());
  return best;
}

const char* name(Isa isa) {
  if (isa == Isa::avx512) return "avx512";
  return isa == Isa::avx2 ? "avx2" : "baseline";
}

}  // namespace nereus::kernels
