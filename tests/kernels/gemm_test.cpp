#include "nereus/kernels/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nereus/kernels/pair_kernels.h"
#include "tests/kernels/random_matrix.h"

namespace nereus::kernels {
namespace {

struct Size {
  int64_t m, k, n;
};

const std::vector<Size> kSizes{{1, 1, 1},    {1, 7, 5},      {2, 64, 48},   {3, 1, 9},      {5, 33, 1},
                               {8, 576, 96}, {17, 100, 130}, {64, 64, 200}, {65, 300, 200}, {140, 31, 77}};

/// Products of a few hundred values near 1 in fp32.
double tolerance(int64_t k) {
  return 2e-6 * (8 + std::sqrt(static_cast<double>(k)) * 4);
}

double exact(const RandomMatrix& a, bool a_transposed, const RandomMatrix& b, bool b_transposed, int64_t i,
             int64_t j) {
  const int64_t depth = a_transposed ? a.rows : a.cols;
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k) {
    const double left = a_transposed ? a.at(k, i) : a.at(i, k);
    sum += left * static_cast<double>(b_transposed ? b.at(j, k) : b.at(k, j));
  }
  return sum;
}

ConstMatrix oriented(const RandomMatrix& matrix, bool transposed) {
  return transposed ? matrix.view().transposed() : matrix.view();
}

TEST(Gemm, EveryOrientationStrideAndBeta) {
  RandomStream stream(3, 1);
  for (const Size& size : kSizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const bool a_transposed = variant & 1, b_transposed = variant & 2;
      const float beta = variant & 4 ? 1.0F : 0.0F;
      const int64_t gap = variant & 8 ? 5 : 0;
      const RandomMatrix a(a_transposed ? size.k : size.m, a_transposed ? size.m : size.k, stream, 1, gap);
      const RandomMatrix b(b_transposed ? size.n : size.k, b_transposed ? size.k : size.n, stream, 1, gap);
      RandomMatrix c(size.m, size.n, stream, 1, gap);
      const RandomMatrix before = c;
      if (beta == 0) c.at(0, 0) = NAN;  // what was there must not matter
      gemm(oriented(a, a_transposed), oriented(b, b_transposed), c.view(), beta);
      for (int64_t i = 0; i < size.m; ++i) {
        for (int64_t j = 0; j < size.n; ++j) {
          const double added = beta == 0 ? 0.0 : static_cast<double>(before.at(i, j));
          ASSERT_NEAR(c.at(i, j), exact(a, a_transposed, b, b_transposed, i, j) + added, tolerance(size.k))
              << size.m << " x " << size.k << " x " << size.n << ", variant " << variant;
        }
      }
    }
  }
}

TEST(Gemm, EmptySizes) {
  float value = 3;
  gemm({nullptr, 0, 4, 4, 1}, {nullptr, 4, 2, 2, 1}, {nullptr, 0, 2, 2, 1});
  gemm({nullptr, 1, 0, 0, 1}, {nullptr, 0, 1, 1, 1}, {&value, 1, 1, 1, 1}, 1.0F);
  EXPECT_EQ(value, 3);
  gemm({nullptr, 1, 0, 0, 1}, {nullptr, 0, 1, 1, 1}, {&value, 1, 1, 1, 1}, 0.0F);
  EXPECT_EQ(value, 0);
}

float to_bf16_and_back(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000U);
}

TEST(PackedWeights, MultiplyEqualsTheDefinition) {
  RandomStream stream(4, 1);
  for (const Element element : {Element::f32, Element::bf16}) {
    for (const Size& size : kSizes) {
      for (const float beta : {0.0F, 1.0F}) {
        RandomMatrix x(size.m, size.k, stream, 1, 3), weights(size.n, size.k, stream, 1, 3);
        RandomMatrix y(size.m, size.n, stream, 1, 3);
        const RandomMatrix before = y;
        const PackedWeights packed(weights.input(), element);
        EXPECT_EQ(packed.out(), size.n);
        EXPECT_EQ(packed.in(), size.k);
        packed.multiply(x.input(), y.view(), beta);
        if (element == Element::bf16) {
          for (float& value : x.values) value = to_bf16_and_back(value);
          for (float& value : weights.values) value = to_bf16_and_back(value);
        }
        for (int64_t i = 0; i < size.m; ++i) {
          for (int64_t j = 0; j < size.n; ++j) {
            const double added = beta == 0 ? 0.0 : static_cast<double>(before.at(i, j));
            ASSERT_NEAR(y.at(i, j), exact(x, false, weights, true, i, j) + added, tolerance(size.k))
                << size.m << " x " << size.k << " x " << size.n << (element == Element::bf16 ? " bf16" : "");
          }
        }
      }
    }
  }
}

TEST(PackedWeights, OnePackingServesEveryNumberOfRows) {
  RandomStream stream(5, 1);
  const RandomMatrix weights(960, 576, stream);
  for (const Element element : {Element::f32, Element::bf16}) {
    const PackedWeights packed(weights.input(), element);
    const RandomMatrix all(300, 576, stream);
    RandomMatrix expected(300, 960, stream);
    packed.multiply(all.input(), expected.view());
    for (const int64_t rows : {1, 2, 3, 4, 8, 15, 16, 31, 32, 48, 64, 100, 256}) {
      RandomMatrix y(rows, 960, stream);
      ConstMatrix x = all.input();
      x.rows = rows;
      packed.multiply(x, y.view());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < 960; ++j) ASSERT_NEAR(y.at(i, j), expected.at(i, j), 2e-4) << rows << " rows";
      }
    }
  }
}

TEST(PackedWeights, TransposedViewPacksTheBackwardProduct) {
  RandomStream stream(6, 1);
  const RandomMatrix weights(96, 64, stream), dy(10, 96, stream);
  RandomMatrix dx(10, 64, stream);
  for (const Element element : {Element::f32, Element::bf16}) {
    const PackedWeights packed(weights.input().transposed(), element);
    packed.multiply(dy.input(), dx.view());
    const double error = element == Element::f32 ? 1e-4 : 0.3;
    for (int64_t i = 0; i < 10; ++i) {
      for (int64_t j = 0; j < 64; ++j)
        EXPECT_NEAR(dx.at(i, j), exact(dy, false, weights, false, i, j), error);
    }
  }
}

// High precision is another arithmetic where there are tiles, and the same elsewhere.
TEST(PackedWeights, HighPrecisionNeedsTiles) {
  RandomStream stream(12, 1);
  const RandomMatrix weights(96, 300, stream), x(33, 300, stream);
  RandomMatrix highest(33, 96, stream), high(33, 96, stream);
  PackedWeights(weights.input(), Element::f32).multiply(x.input(), highest.view());
  PackedWeights(weights.input(), Element::f32, Precision::high).multiply(x.input(), high.view());
  EXPECT_EQ(high.values != highest.values, has_tiles());
}

TEST(PackedWeights, NarrowWeightsTakeHalfTheMemory) {
  RandomStream stream(7, 1);
  const RandomMatrix weights(960, 576, stream);
  const int64_t wide = PackedWeights(weights.input(), Element::f32).bytes();
  EXPECT_GE(wide, 960 * 576 * 4);
  EXPECT_EQ(PackedWeights(weights.input(), Element::bf16).bytes(), wide / 2);
}

TEST(PackedWeights, MovesAndEmptySizes) {
  RandomStream stream(8, 1);
  const RandomMatrix weights(8, 4, stream), x(1, 4, stream);
  RandomMatrix y(1, 8, stream);
  PackedWeights first(weights.input(), Element::f32);
  PackedWeights second(std::move(first));
  first = std::move(second);
  first.multiply(x.input(), y.view());
  EXPECT_NEAR(y.at(0, 3), exact(x, false, weights, true, 0, 3), 1e-5);
  const PackedWeights empty({nullptr, 0, 4, 4, 1}, Element::f32);
  EXPECT_EQ(empty.bytes(), 0);
  empty.multiply(x.input(), {nullptr, 1, 0, 0, 1});
}

TEST(PackedWeights, ThreadsShareWeightsAndTheCacheOfProducts) {
  RandomStream stream(9, 1);
  const RandomMatrix weights(200, 64, stream), x(40, 64, stream);
  const PackedWeights packed(weights.input(), Element::f32);
  RandomMatrix expected(40, 200, stream);
  packed.multiply(x.input(), expected.view());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      RandomStream mine(10 + t, 1);
      for (int64_t rows = 1; rows <= 40; ++rows) {
        RandomMatrix y(rows, 200, mine);
        ConstMatrix part = x.input();
        part.rows = rows;
        packed.multiply(part, y.view());
        for (int64_t j = 0; j < 200; ++j)
          wrong[t] += std::abs(y.at(rows - 1, j) - expected.at(rows - 1, j)) > 1e-4F;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(PackedWeights, SameInputsGiveTheSameBits) {
  RandomStream stream(11, 1);
  const RandomMatrix weights(576, 1536, stream), x(37, 1536, stream);
  const PackedWeights packed(weights.input(), Element::f32), again(weights.input(), Element::f32);
  RandomMatrix first(37, 576, stream), second(37, 576, stream);
  packed.multiply(x.input(), first.view());
  again.multiply(x.input(), second.view());
  EXPECT_EQ(first.values, second.values);
}

}  // namespace
}  // namespace nereus::kernels
