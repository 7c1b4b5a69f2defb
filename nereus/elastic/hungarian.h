#pragma once

#include <cstdint>
#include <vector>

namespace nereus::elastic {

/// The assignment of rows to columns, one to one, with the largest sum of values: column by row. `values` is
/// n * n, row by row. Kuhn's method with potentials (Jonker and Volgenant, "A shortest augmenting path
/// algorithm for dense and sparse linear assignment problems", 1987): exact, n^3 steps.
std::vector<int32_t> best_assignment(const std::vector<double>& values, int32_t n);

}  // namespace nereus::elastic
