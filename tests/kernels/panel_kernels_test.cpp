#include "nereus/kernels/panel_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "nereus/kernels/pair_kernels.h"
#include "tests/kernels/random_matrix.h"

// PackedWeights takes the best kernels of this processor; here all that it runs multiply panels made by hand.
namespace nereus::kernels {
namespace {

struct Size {
  int64_t rows, depth, columns;
};
const std::vector<Size> kSizes{{1, 1, 1},    {1, 64, 64},  {2, 33, 63},   {6, 128, 65}, {7, 129, 130},
                               {12, 300, 8}, {32, 96, 96}, {33, 40, 160}, {70, 31, 17}};

uint16_t narrow(float x) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
}
float widen(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}

/// x, weights [depth, columns] and y with values that bf16 holds exactly.
struct Problem {
  explicit Problem(const Size& s)
      : size(s),
        stream(21, 1),
        x(s.rows, s.depth, stream),
        weights(s.depth, s.columns, stream),
        y(s.rows, s.columns, stream, 1, 3) {
    for (float& value : x.values) value = widen(narrow(value));
    for (float& value : weights.values) value = widen(narrow(value));
  }

  void expect_product(const RandomMatrix& found, bool accumulate, const std::string& title) const {
    for (int64_t i = 0; i < size.rows; ++i) {
      for (int64_t j = 0; j < size.columns; ++j) {
        double sum = accumulate ? static_cast<double>(y.at(i, j)) : 0.0;
        for (int64_t k = 0; k < size.depth; ++k)
          sum += static_cast<double>(x.at(i, k)) * static_cast<double>(weights.at(k, j));
        ASSERT_NEAR(found.at(i, j), sum, 4e-5)
            << title << ": " << size.rows << " x " << size.depth << " x " << size.columns;
      }
      for (int64_t j = size.columns; j < found.stride; ++j)
        ASSERT_TRUE(std::isnan(found.at(i, j))) << "wrote past the end";
    }
  }

  Size size;
  RandomStream stream;
  RandomMatrix x, weights, y;
};

/// Panels of `width` columns; `at` says where element (k, column) of a panel lies.
template <class T>
std::vector<T> panels(const Problem& problem, int64_t width, int64_t panel_elements,
                      const std::function<int64_t(int64_t, int64_t)>& at,
                      const std::function<T(float)>& convert) {
  std::vector<T> packed(static_cast<size_t>((problem.size.columns + width - 1) / width * panel_elements));
  for (int64_t k = 0; k < problem.size.depth; ++k) {
    for (int64_t j = 0; j < problem.size.columns; ++j) {
      packed[static_cast<size_t>(j / width * panel_elements + at(k, j % width))] =
          convert(problem.weights.at(k, j));
    }
  }
  return packed;
}

using Multiply = void (*)(const PanelProduct&, int64_t, int64_t);

/// Runs all units at once, and then in pieces in reverse, which must give the same bits.
void check(const Problem& problem, PanelProduct product, int64_t units, Multiply multiply,
           const std::string& title) {
  for (const bool accumulate : {false, true}) {
    RandomMatrix whole = problem.y, pieces = problem.y;
    product.y_stride = whole.stride;
    product.accumulate = accumulate;
    product.y = whole.values.data();
    multiply(product, 0, units);
    problem.expect_product(whole, accumulate, title);
    product.y = pieces.values.data();
    for (int64_t end = units; end > 0; end -= 2) multiply(product, std::max<int64_t>(0, end - 2), end);
    for (int64_t i = 0; i < problem.size.rows; ++i) {
      for (int64_t j = 0; j < problem.size.columns; ++j) ASSERT_EQ(whole.at(i, j), pieces.at(i, j)) << title;
    }
  }
}

TEST(PanelKernels, EachInstructionSetMultiplies) {
  for (const Isa isa : supported_isas()) {
    const PanelKernels& kernels = panel_kernels(isa);
    for (const Size& size : kSizes) {
      const Problem problem(size);
      const int64_t width = kernels.width, elements = (size.depth + 3) * width;
      const auto at = [width](int64_t k, int64_t j) { return k * width + j; };
      const auto wide = panels<float>(problem, width, elements, at, [](float x) { return x; });
      const auto half = panels<uint16_t>(problem, width, elements, at, narrow);
      PanelProduct product{
          .x = problem.x.values.data(), .x_stride = problem.x.stride, .rows = size.rows, .depth = size.depth};
      product.panel_elements = elements;
      product.columns = size.columns;
      product.panels = wide.data();
      check(problem, product, kernels.units(product), kernels.multiply_f32, std::string(name(isa)) + " f32");
      product.panels = half.data();
      check(problem, product, kernels.units(product), kernels.multiply_bf16,
            std::string(name(isa)) + " bf16");
    }
  }
}

void check_pairs(const PairKernels& kernels, const std::string& title) {
  constexpr int64_t kWidth = 64;
  for (const Size& size : kSizes) {
    const Problem problem(size);
    const int64_t depth = (size.depth + 31) / 32 * 32;
    const auto packed = panels<uint16_t>(
        problem, kWidth, depth * kWidth,
        [](int64_t k, int64_t j) { return (k / 2 * kWidth + j) * 2 + k % 2; }, narrow);
    std::vector<uint16_t> x(static_cast<size_t>(size.rows * depth));
    for (int64_t i = 0; i < size.rows; ++i) {
      for (int64_t k = 0; k < size.depth; ++k)
        x[static_cast<size_t>(i * depth + k)] = narrow(problem.x.at(i, k));
    }
    PanelProduct product{.x = x.data(), .x_stride = depth, .rows = size.rows, .depth = size.depth};
    product.panels = packed.data();
    product.panel_elements = depth * kWidth;
    product.columns = size.columns;
    check(problem, product, kernels.units(product), kernels.multiply, title);
  }
}

TEST(PairKernels, VectorsMultiplyPairs) {
  if (!has_fast_bf16()) GTEST_SKIP() << "this processor has no AVX512_BF16";
  check_pairs(pair_kernels(PairIsa::avx512_bf16), "avx512_bf16");
}

TEST(PairKernels, TilesMultiplyPairs) {
  if (!has_tiles()) GTEST_SKIP() << "this processor has no AMX";
  check_pairs(pair_kernels(PairIsa::amx), "amx");
}

}  // namespace
}  // namespace nereus::kernels
