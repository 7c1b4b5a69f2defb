#include "nereus/kernels/split_gemm.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nereus/kernels/gemm.h"
#include "nereus/kernels/pair_kernels.h"
#include "tests/kernels/random_matrix.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace nereus::kernels {
namespace {

class SplitTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tiles()) GTEST_SKIP() << "this processor has no AMX tiles, or ONEDNN_MAX_CPU_ISA forbids them";
  }
};
class SplitGemm : public SplitTiles, public testing::WithParamInterface<Precision> {};

ConstMatrix oriented(const RandomMatrix& matrix, bool transposed) {
  return transposed ? matrix.view().transposed() : matrix.view();
}

double value(ConstMatrix matrix, int64_t i, int64_t j) {
  return matrix.data[i * matrix.row_stride + j * matrix.col_stride];
}

/// Element (i, j) of a · b, and the root of the sum of squares of its terms: a scale for errors.
struct Exact {
  double sum = 0, scale = 0;
};
Exact exact(ConstMatrix a, ConstMatrix b, int64_t i, int64_t j) {
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < a.cols; ++k) {
    const double term = value(a, i, k) * value(b, k, j);
    sum += term;
    squares += term * term;
  }
  return {sum, std::sqrt(squares)};
}

/// By definition, in fp32; stands for oneDNN where a block has no parts.
void by_definition(ConstMatrix a, ConstMatrix b, Matrix c, float beta) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      float& to = c.data[i * c.row_stride + j];
      float sum = beta == 0 ? 0 : to;
      for (int64_t k = 0; k < a.cols; ++k) {
        sum += a.data[i * a.row_stride + k * a.col_stride] * b.data[k * b.row_stride + j * b.col_stride];
      }
      to = sum;
    }
  }
}

void unreachable(ConstMatrix, ConstMatrix, Matrix, float) {
  FAIL() << "finite values need no other product";
}

struct Size {
  int64_t m, k, n;
};

TEST_P(SplitGemm, EveryOrientationStrideBetaAndRaggedSize) {
  RandomStream stream(31, 1);
  const double tolerance = GetParam() == Precision::highest ? 2e-6 : 3e-5;
  for (const Size& size : std::vector<Size>{{1, 1, 1},
                                            {1, 7, 5},
                                            {3, 1, 9},
                                            {5, 33, 1},
                                            {16, 16, 16},
                                            {32, 32, 32},
                                            {33, 15, 47},
                                            {31, 17, 63},
                                            {64, 64, 96},
                                            {65, 100, 33},
                                            {140, 31, 77},
                                            {47, 1600, 50}}) {
    for (int variant = 0; variant < 16; ++variant) {
      const bool a_transposed = variant & 1, b_transposed = variant & 2;
      const float beta = variant & 4 ? 1.0F : 0.0F;
      const int64_t gap = variant & 8 ? 5 : 0;
      const RandomMatrix a(a_transposed ? size.k : size.m, a_transposed ? size.m : size.k, stream, 1, gap);
      const RandomMatrix b(b_transposed ? size.n : size.k, b_transposed ? size.k : size.n, stream, 1, gap);
      RandomMatrix c(size.m, size.n, stream, 1, gap);
      const RandomMatrix before = c;
      if (beta == 0) c.at(0, 0) = NAN;  // what was there must not matter
      const ConstMatrix left = oriented(a, a_transposed), right = oriented(b, b_transposed);
      split_gemm(left, right, c.view(), beta, GetParam(), unreachable);
      for (int64_t i = 0; i < size.m; ++i) {
        for (int64_t j = 0; j < size.n; ++j) {
          const double added = beta == 0 ? 0.0 : static_cast<double>(before.at(i, j));
          const Exact expected = exact(left, right, i, j);
          ASSERT_NEAR(c.at(i, j), expected.sum + added, tolerance * (expected.scale + std::abs(added)))
              << size.m << " x " << size.k << " x " << size.n << ", variant " << variant;
        }
        for (int64_t j = size.n; j < c.stride; ++j) ASSERT_TRUE(std::isnan(c.at(i, j))) << "written beyond c";
      }
    }
  }
}

/// The root mean square of errors relative to the scale of their elements, over some elements.
double error(ConstMatrix a, ConstMatrix b, const RandomMatrix& c) {
  double squares = 0;
  int64_t count = 0;
  for (int64_t at = 0; at < c.rows * c.cols; at += 37, ++count) {
    const Exact expected = exact(a, b, at / c.cols, at % c.cols);
    squares += std::pow((c.at(at / c.cols, at % c.cols) - expected.sum) / expected.scale, 2);
  }
  return std::sqrt(squares / static_cast<double>(count));
}

void scale_some(RandomMatrix& matrix, float factor) {
  for (size_t i = 0; i < matrix.values.size(); i += 101) matrix.values[i] *= factor;
}

// A sum that lacked any of the six products of three parts would be several times less accurate than fp32;
// one that lacked any of the three products of two parts would be off by 2^-10.
TEST_P(SplitGemm, AsAccurateAsFp32OrAsSixteenBits) {
  RandomStream stream(32, 1);
  for (const int64_t depth : {32, 576, 1536, 2048, 49152}) {
    for (const float outlier : {1.0F, 1e4F, 1e-4F}) {
      if (depth > 2048 && outlier != 1) continue;
      RandomMatrix x(160, depth, stream), weights(48, depth, stream);
      RandomMatrix y(160, 48, stream), plain = y;
      scale_some(x, outlier);
      scale_some(weights, outlier);
      PackedWeights(weights.input(), Element::f32).multiply(x.input(), plain.view());
      split_gemm(x.input(), weights.input().transposed(), y.view(), 0, GetParam(), unreachable);
      const double ours = error(x.input(), weights.input().transposed(), y);
      const double library = error(x.input(), weights.input().transposed(), plain);
      EXPECT_LE(ours, GetParam() == Precision::highest ? library : 0x1p-17)
          << "depth " << depth << ", outliers of " << outlier;
      RecordProperty("depth_" + std::to_string(depth) + "_outlier_" + std::to_string(outlier),
                     fmt::format("{:.3g}", ours / library));
    }
  }
}

TEST_P(SplitGemm, AddingToLargeValuesCostsOneRounding) {
  RandomStream stream(33, 1);
  const RandomMatrix a(64, 2048, stream), b(2048, 64, stream);
  RandomMatrix c(64, 64, stream);
  for (float& x : c.values) x = 1e6F;
  split_gemm(a.view(), b.view(), c.view(), 1, GetParam(), unreachable);
  // Half a unit in the last place of 1e6, in each of the three blocks of depth.
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 64; ++j) {
      ASSERT_NEAR(c.at(i, j), 1e6 + exact(a.view(), b.view(), i, j).sum, 3 * 0.03125 + 5e-3);
    }
  }
}

TEST_P(SplitGemm, IntegersAreExact) {
  RandomStream stream(34, 1);
  RandomMatrix a(40, 100, stream, GetParam() == Precision::highest ? 300 : 25), b(100, 70, stream, 300),
      c(40, 70, stream);
  for (float& x : a.values) x = std::round(x);
  for (float& x : b.values) x = std::round(x);
  const float greatest = GetParam() == Precision::highest ? 16777215 : 65535;  // all bits of all parts
  for (int64_t j = 0; j < 70; ++j) b.at(5, j) = 0;
  b.at(5, 9) = 1;
  for (int64_t k = 0; k < 100; ++k) a.at(3, k) = k == 5 ? greatest : 0.0F;
  split_gemm(a.view(), b.view(), c.view(), 0, GetParam(), unreachable);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 70; ++j) ASSERT_EQ(c.at(i, j), exact(a.view(), b.view(), i, j).sum);
  }
}

void expect_same_class(const RandomMatrix& c, const RandomMatrix& expected) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      if (std::isfinite(expected.at(i, j))) {
        ASSERT_NEAR(c.at(i, j), expected.at(i, j), 1e-2 + 1e-5 * std::abs(expected.at(i, j)));
      } else if (std::isnan(expected.at(i, j))) {
        ASSERT_TRUE(std::isnan(c.at(i, j))) << i << ", " << j;
      } else {
        ASSERT_EQ(c.at(i, j), expected.at(i, j)) << i << ", " << j;
      }
    }
  }
}

TEST_P(SplitGemm, InfinitiesAndNanPropagateAsInFp32) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kGreatest = std::numeric_limits<float>::max();  // rounds to infinity in bf16
  RandomStream stream(35, 1);
  for (const float strange : {kInfinity, -kInfinity, NAN, kGreatest}) {
    for (int variant = 0; variant < 8; ++variant) {
      const bool in_a = variant & 1, transposed = variant & 2;
      const float beta = variant & 4 ? 1.0F : 0.0F;
      RandomMatrix a(70, 1000, stream), b(1000, 80, stream);
      for (int64_t k = 0; k < 1000; ++k) b.at(k, 3) = a.at(3, k) = k == 900 ? 0.5F : 0.0F;
      (in_a ? a.at(5, 900) : b.at(900, 7)) = strange;
      RandomMatrix c(70, 80, stream), expected = c;
      const RandomMatrix copy = [&] {
        RandomMatrix turned(1000, 70, stream);
        for (int64_t i = 0; i < 70; ++i) {
          for (int64_t k = 0; k < 1000; ++k) turned.at(k, i) = a.at(i, k);
        }
        return turned;
      }();
      by_definition(a.view(), b.view(), expected.view(), beta);
      split_gemm(transposed ? copy.input().transposed() : a.input(), b.view(), c.view(), beta, GetParam(),
                 by_definition);
      expect_same_class(c, expected);
    }
  }
}

#ifdef _OPENMP
TEST_P(SplitGemm, SameBitsForEveryNumberOfThreads) {
  RandomStream stream(36, 1);
  const RandomMatrix a(333, 900, stream), b(900, 250, stream);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  RandomMatrix expected(333, 250, stream);
  split_gemm(a.view(), b.view(), expected.view(), 0, GetParam(), unreachable);
  for (const int threads : {2, 3, 5, 8, 16}) {
    omp_set_num_threads(threads);
    RandomMatrix c(333, 250, stream);
    split_gemm(a.view(), b.view(), c.view(), 0, GetParam(), unreachable);
    EXPECT_EQ(c.values, expected.values) << threads << " threads";
  }
  omp_set_num_threads(before);
}
#endif

// A result that is too large for the caches is written past them where its lines are whole, and its factors
// are packed in several blocks; products of some of the rows are neither.
TEST_P(SplitGemm, LargeResultsHaveTheBitsOfSmallOnes) {
  constexpr int64_t kRows = 2800, kDepth = 600, kColumns = 416, kSome = 700;
  RandomStream stream(41, 1);
  const RandomMatrix a(kRows, kDepth, stream), b(kDepth, kColumns, stream);
  RandomMatrix expected(kRows, kColumns, stream);
  for (int64_t i = 0; i < kRows; i += kSome) {
    split_gemm({&a.values[static_cast<size_t>(i * kDepth)], kSome, kDepth, kDepth, 1}, b.view(),
               {&expected.at(i, 0), kSome, kColumns, kColumns, 1}, 0, GetParam(), unreachable);
  }
  for (const int64_t offset : {0, 1}) {  // in floats, from a line of the cache
    for (const int64_t gap : {0, 16, 3}) {
      const int64_t stride = kColumns + gap;
      std::vector<float> memory(static_cast<size_t>(kRows * stride + 32), -7.0F);
      void* start = memory.data();
      size_t space = memory.size() * sizeof(float);
      std::align(64, sizeof(float), start, space);
      float* c = static_cast<float*>(start) + offset;
      split_gemm(a.view(), b.view(), {c, kRows, kColumns, stride, 1}, 0, GetParam(), unreachable);
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kColumns; ++j)
          ASSERT_EQ(c[i * stride + j], expected.at(i, j)) << i << ", " << j;
        for (int64_t j = kColumns; j < stride; ++j) ASSERT_EQ(c[i * stride + j], -7.0F) << "written beyond c";
      }
    }
  }
}

// Few rows of packed weights are multiplied over their whole depth at once, also where the result is written
// past the caches.
TEST_F(SplitTiles, LargeResultsHaveTheBitsOfPlainProducts) {
  constexpr int64_t kRows = 64, kDepth = 800, kColumns = 16512;
  RandomStream stream(42, 1);
  const RandomMatrix x(kRows, kDepth, stream), weights(kColumns, kDepth, stream);
  RandomMatrix expected(kRows, kColumns, stream);
  split_gemm(x.input(), weights.input().transposed(), expected.view(), 0, Precision::high, unreachable);
  std::vector<float> memory(static_cast<size_t>(kRows * kColumns + 16), -7.0F);
  void* start = memory.data();
  size_t space = memory.size() * sizeof(float);
  std::align(64, sizeof(float), start, space);
  const float* y = static_cast<float*>(start);
  PackedWeights(weights.input(), Element::f32, Precision::high)
      .multiply(x.input(), {static_cast<float*>(start), kRows, kColumns, kColumns, 1});
  EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), y));
}

TEST_P(SplitGemm, SeveralThreadsMultiplyAtOnce) {
  RandomStream stream(37, 1);
  const RandomMatrix a(96, 200, stream), b(200, 64, stream);
  RandomMatrix expected(96, 64, stream);
  split_gemm(a.view(), b.view(), expected.view(), 0, GetParam(), unreachable);
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        RandomMatrix c = expected;
        split_gemm(a.view(), b.view(), c.view(), 0, GetParam(), unreachable);
        wrong[t] += c.values != expected.values;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

// Sizes of a small model: linear layers forward and backward, and the output head in chunks.
TEST_P(SplitGemm, GemmTakesItWhereItPays) {
  RandomStream stream(38, 1);
  for (const Size& size : std::vector<Size>{{512, 576, 960}, {576, 512, 576}, {256, 576, 2048}}) {
    ASSERT_TRUE(split_gemm_pays(size.m, size.k, size.n));
    const RandomMatrix a(size.m, size.k, stream), b(size.k, size.n, stream);
    RandomMatrix c(size.m, size.n, stream), expected = c;
    gemm(a.view(), b.view(), c.view(), 0, GetParam());
    split_gemm(a.view(), b.view(), expected.view(), 0, GetParam(), unreachable);
    EXPECT_EQ(c.values, expected.values);
  }
  EXPECT_FALSE(split_gemm_pays(1, 576, 576));
  EXPECT_FALSE(split_gemm_pays(2048, 576, 16));
  EXPECT_FALSE(split_gemm_pays(2048, 16, 576));
}

// The product with packed weights is that of the plain matrix bit for bit, of high precision for any number
// of rows.
TEST_P(SplitGemm, PackedWeightsGiveItsBits) {
  RandomStream stream(39, 1);
  std::vector<Size> sizes{{300, 576, 960}, {129, 70, 97}, {200, 1000, 3001}};
  if (GetParam() == Precision::high)
    sizes.insert(sizes.end(), {{1, 576, 960},
                               {3, 1, 1},
                               {16, 33, 31},
                               {17, 64, 65},
                               {32, 1536, 576},
                               {100, 1700, 70},
                               {128, 17000, 40}});
  for (const Size& size : sizes) {
    const RandomMatrix x(size.m, size.k, stream, 1, 3), weights(size.n, size.k, stream, 1, 5);
    const PackedWeights packed(weights.input(), Element::f32, GetParam());
    for (const float beta : {0.0F, 1.0F}) {
      RandomMatrix y(size.m, size.n, stream, 1, 2), expected = y;
      packed.multiply(x.input(), y.view(), beta);
      split_gemm(x.input(), weights.input().transposed(), expected.view(), beta, GetParam(), unreachable);
      for (int64_t i = 0; i < size.m; ++i) {
        for (int64_t j = 0; j < size.n; ++j)
          ASSERT_EQ(y.at(i, j), expected.at(i, j)) << size.m << " x " << size.k << " x " << size.n;
        for (int64_t j = size.n; j < y.stride; ++j) ASSERT_TRUE(std::isnan(y.at(i, j))) << "written beyond y";
      }
    }
  }
}

TEST_P(SplitGemm, PackedWeightsWithInfinities) {
  RandomStream stream(40, 1);
  RandomMatrix x(150, 200, stream), weights(150, 200, stream);
  for (int64_t k = 0; k < 200; ++k) weights.at(9, k) = k == 100 ? 0.5F : 0.0F;
  x.at(5, 100) = std::numeric_limits<float>::infinity();
  weights.at(130, 7) = NAN;
  RandomMatrix y(150, 150, stream), expected = y;
  PackedWeights(weights.input(), Element::f32, GetParam()).multiply(x.input(), y.view());
  by_definition(x.input(), weights.input().transposed(), expected.view(), 0);
  if (GetParam() == Precision::high) {  // an infinity has no parts
    for (float& value : expected.values) value = std::isfinite(value) ? value : NAN;
  }
  expect_same_class(y, expected);
}

INSTANTIATE_TEST_SUITE_P(Precisions, SplitGemm, testing::Values(Precision::highest, Precision::high),
                         [](const auto& instance) {
                           return instance.param == Precision::highest ? "highest" : "high";
                         });

}  // namespace
}  // namespace nereus::kernels
