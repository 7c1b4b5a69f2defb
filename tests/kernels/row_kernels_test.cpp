#include "nereus/kernels/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/kernels/random_matrix.h"

// The other tests run the best kernels of this processor; here each instruction set is held against the
// baseline.
namespace nereus::kernels {
namespace {

using Values = std::vector<float>;

struct Case {
  std::string title;
  std::function<Values(const RowKernels&, int64_t)> run;
};

Values normal(int64_t n, uint64_t seed, double scale = 1) {
  RandomStream stream(seed, 1);
  return RandomMatrix(1, n, stream, scale).values;
}

Values backward_of_distribution(const RowKernels& kernels, int64_t n) {
  Values logits = normal(n, 1, 5);
  kernels.distribution_backward(logits.data(), 0.8F, 3.0F, 0.5F, -0.25F, n);
  return logits;
}

Values rotation(const RowKernels& kernels, int64_t n) {
  Values x = normal(2 * n, 1), sines(static_cast<size_t>(n)), cosines(static_cast<size_t>(n));
  kernels.sin_cos(1234, normal(n, 2).data(), n, sines.data(), cosines.data());
  kernels.rotate(x.data(), n, sines.data(), cosines.data(), -1);
  return x;
}

Values low_rank(const RowKernels& kernels, int64_t n) {
  RandomStream stream(5, 1);
  const RandomMatrix x(7, 40, stream), a(40, 20, stream, 0.1), b(20, n, stream, 0.1);
  RandomMatrix y(7, n, stream);
  Values inner(7 * 32);
  kernels.low_rank_add(x.input(), a.input(), b.input(), 0.5F, inner.data(), y.view());
  return y.values;
}

Values swiglu_gradients(const RowKernels& kernels, int64_t n) {
  Values dgate(static_cast<size_t>(n)), dup(static_cast<size_t>(n));
  kernels.swiglu_backward(normal(n, 1, 4).data(), normal(n, 2).data(), normal(n, 3).data(), n, dgate.data(),
                          dup.data());
  dgate.insert(dgate.end(), dup.begin(), dup.end());
  return dgate;
}

Values adam(const RowKernels& kernels, int64_t n) {
  Values weights = normal(n, 1), m = normal(n, 2), v(static_cast<size_t>(n), 0.5F);
  kernels.adamw(weights.data(), normal(n, 3).data(), m.data(), v.data(), n,
                {0.1F, 0.9F, 0.99F, 1e-8F, 0.01F, 0.1F, 0.01F, 1});
  return weights;
}

Values narrowed(const RowKernels& kernels, int64_t n) {
  std::vector<uint16_t> y(static_cast<size_t>(n));
  kernels.to_bf16(normal(n, 1).data(), n, y.data());
  return {y.begin(), y.end()};
}

std::vector<Case> cases() {
  return {
      {"rms_norm",
       [](const RowKernels& k, int64_t n) {
         Values y(static_cast<size_t>(n));
         y.push_back(k.rms_norm(normal(n, 1).data(), normal(n, 2).data(), 1e-5F, n, y.data()));
         return y;
       }},
      {"rms_norm_backward",
       [](const RowKernels& k, int64_t n) {
         Values dx(static_cast<size_t>(n));
         k.rms_norm_backward(normal(n, 1).data(), normal(n, 2).data(), 0.9F, normal(n, 3).data(), n,
                             dx.data());
         return dx;
       }},
      {"add_scaled",
       [](const RowKernels& k, int64_t n) {
         Values y = normal(n, 1);
         k.add_scaled(normal(n, 2).data(), normal(n, 3).data(), 0.3F, n, y.data());
         k.add_scaled(normal(n, 2).data(), nullptr, 0.3F, n, y.data());
         return y;
       }},
      {"swiglu",
       [](const RowKernels& k, int64_t n) {
         Values y(static_cast<size_t>(n));
         k.swiglu(normal(n, 1, 4).data(), normal(n, 2).data(), n, y.data());
         return y;
       }},
      {"distribution",
       [](const RowKernels& k, int64_t n) {
         const auto found = k.distribution(normal(n, 1, 5).data(), 0.8F, n);
         return Values{found.logsumexp, found.entropy};
       }},
      {"sum_of_squares",
       [](const RowKernels& k, int64_t n) {
         return Values{static_cast<float>(k.sum_of_squares(normal(n, 1).data(), n))};
       }},
      {"distribution_backward", backward_of_distribution},
      {"rotation", rotation},
      {"low_rank_add", low_rank},
      {"swiglu_backward", swiglu_gradients},
      {"adamw", adam},
      {"to_bf16", narrowed},
  };
}

TEST(RowKernels, EachInstructionSetAgreesWithTheBaseline) {
  for (const Case& test : cases()) {
    for (const int64_t n : {1, 5, 8, 16, 19, 64, 77, 576, 4099}) {
      const Values expected = test.run(row_kernels(Isa::baseline), n);
      for (const Isa isa : supported_isas()) {
        const Values found = test.run(row_kernels(isa), n);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], 4e-6 * (1 + std::abs(expected[i])))
              << test.title << " of " << n << ", " << name(isa);
        }
      }
    }
  }
}

// Through swiglu with a huge `up`: silu(g) = g / (1 + e^−g) shows the exponential's relative error.
TEST(RowKernels, ExponentialIsAccurateOverItsRange) {
  for (const Isa isa : supported_isas()) {
    double worst = 0;
    for (double g = -87.0; g < 0; g += 0.0037) {
      const auto gate = static_cast<float>(g);
      float up = 1, y = 0;
      row_kernels(isa).swiglu(&gate, &up, 1, &y);
      const double exact = static_cast<double>(gate) / (1 + std::exp(-static_cast<double>(gate)));
      worst = std::max(worst, std::abs(static_cast<double>(y) / exact - 1));
    }
    EXPECT_LT(worst, 6e-7) << name(isa);
  }
}

}  // namespace
}  // namespace nereus::kernels
