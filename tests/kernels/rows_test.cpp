#include "nereus/kernels/rows.h"

#include <gtest/gtest.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "nereus/kernels/row_kernels.h"
#include "tests/kernels/random_matrix.h"

namespace nereus::kernels {
namespace {

const std::vector<int64_t> kWidths{1, 3, 4, 7, 8, 15, 16, 17, 31, 64, 100, 576, 577};

double dot(const RandomMatrix& a, const RandomMatrix& b, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < a.cols; ++j)
    sum += static_cast<double>(a.at(row, j)) * static_cast<double>(b.at(row, j));
  return sum;
}

TEST(RmsNorm, ForwardEqualsTheDefinition) {
  RandomStream stream(1, 1);
  for (const int64_t n : kWidths) {
    const RandomMatrix x(3, n, stream, 2, 4), weight(1, n, stream);
    RandomMatrix y(3, n, stream, 1, 2);
    std::vector<float> inverse(3);
    rms_norm(x.input(), weight.values.data(), 1e-5F, y.view(), inverse.data());
    for (int64_t i = 0; i < 3; ++i) {
      const double expected = 1 / std::sqrt(dot(x, x, i) / static_cast<double>(n) + 1e-5);
      EXPECT_NEAR(inverse[static_cast<size_t>(i)], expected, expected * 1e-6);
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(y.at(i, j), x.at(i, j) * expected * static_cast<double>(weight.at(0, j)), 4e-6) << n;
      }
    }
  }
}

/// Σ dy · f, whose derivative by finite differences in double the backward functions must give.
double rms_loss(const RandomMatrix& x, const RandomMatrix& weight, const RandomMatrix& dy) {
  double loss = 0;
  for (int64_t i = 0; i < x.rows; ++i) {
    const double inverse = 1 / std::sqrt(dot(x, x, i) / static_cast<double>(x.cols) + 1e-5);
    for (int64_t j = 0; j < x.cols; ++j) {
      loss += static_cast<double>(dy.at(i, j)) * static_cast<double>(x.at(i, j)) * inverse *
              static_cast<double>(weight.at(0, j));
    }
  }
  return loss;
}

/// Central difference of `loss` in one float.
double slope(float& value, const std::function<double()>& loss) {
  const float before = value;
  value = before + 0.01F;
  const double high = loss(), up = value;
  value = before - 0.01F;
  const double low = loss(), down = value;
  value = before;
  return (high - low) / (up - down);
}

TEST(RmsNorm, BackwardEqualsDifferencesOfTheLoss) {
  RandomStream stream(2, 1);
  for (const int64_t n : {1, 5, 16, 37, 130}) {
    RandomMatrix x(4, n, stream, 2, 1), weight(1, n, stream);
    const RandomMatrix dy(4, n, stream, 1, 3);
    RandomMatrix y(4, n, stream), dx(4, n, stream);
    std::vector<float> inverse(4), dweight(static_cast<size_t>(n), 0.5F);
    rms_norm(x.input(), weight.values.data(), 1e-5F, y.view(), inverse.data());
    rms_norm_backward(x.input(), weight.values.data(), inverse.data(), dy.input(), dx.view(), dweight.data());
    const auto loss = [&] { return rms_loss(x, weight, dy); };
    for (int64_t j = 0; j < n; ++j) {
      EXPECT_NEAR(dx.at(2, j), slope(x.at(2, j), loss), 2e-3) << n;
      EXPECT_NEAR(dweight[static_cast<size_t>(j)] - 0.5F, slope(weight.at(0, j), loss), 1e-4) << n;
    }
  }
}

TEST(RmsNorm, BackwardMayOverwriteItsInput) {
  RandomStream stream(3, 1);
  const RandomMatrix x(9, 65, stream), weight(1, 65, stream);
  RandomMatrix dy(9, 65, stream), dx(9, 65, stream);
  const std::vector<float> inverse(9, 0.7F);
  std::vector<float> apart(65), together(65);
  rms_norm_backward(x.input(), weight.values.data(), inverse.data(), dy.input(), dx.view(), apart.data());
  rms_norm_backward(x.input(), weight.values.data(), inverse.data(), dy.input(), dy.view(), together.data());
  EXPECT_EQ(dx.values, dy.values);
  EXPECT_EQ(apart, together);
}

TEST(Rotary, EqualsTheDefinitionAtLargePositions) {
  RandomStream stream(4, 1);
  for (const int64_t head_dim : {2, 8, 24, 64, 128}) {
    const int64_t half = head_dim / 2;
    std::vector<float> frequencies;
    for (int64_t i = 0; i < half; ++i) {
      frequencies.push_back(
          static_cast<float>(std::pow(10000.0, -static_cast<double>(2 * i) / static_cast<double>(head_dim))));
    }
    const std::vector<int32_t> positions{0, 1, 17, 4095, 131071, 1000000};
    RandomMatrix x(6, 3 * head_dim, stream, 1, 5);
    const RandomMatrix before = x;
    rotary(x.view(), 3, head_dim, positions.data(), frequencies.data(), 1);
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t d = 0; d < half; ++d) {
          const float angle =
              static_cast<float>(positions[static_cast<size_t>(i)]) * frequencies[static_cast<size_t>(d)];
          const double c = std::cos(static_cast<double>(angle)), s = std::sin(static_cast<double>(angle));
          const double a = before.at(i, h * head_dim + d), b = before.at(i, h * head_dim + half + d);
          ASSERT_NEAR(x.at(i, h * head_dim + d), a * c - b * s, 1e-6) << head_dim << " at " << i;
          ASSERT_NEAR(x.at(i, h * head_dim + half + d), b * c + a * s, 1e-6);
        }
      }
    }
    rotary(x.view(), 3, head_dim, positions.data(), frequencies.data(), -1);
    for (int64_t j = 0; j < 3 * head_dim; ++j) EXPECT_NEAR(x.at(5, j), before.at(5, j), 1e-6);
  }
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

TEST(Swiglu, ForwardAndBackward) {
  RandomStream stream(5, 1);
  for (const int64_t n : kWidths) {
    RandomMatrix gate_up(2, 2 * n, stream, 4, 3), y(2, n, stream, 1, 1), dgate_up(2, 2 * n, stream, 1, 2);
    if (n > 3) gate_up.at(0, 0) = -200, gate_up.at(0, 1) = 200, gate_up.at(0, 2) = -88.5F;
    const RandomMatrix dy(2, n, stream);
    swiglu(gate_up.view(), y.view());
    swiglu_backward(gate_up.view(), dy.input(), dgate_up.view());
    for (int64_t j = 0; j < n; ++j) {
      const double g = gate_up.at(0, j), u = gate_up.at(0, n + j), d = dy.at(0, j),
                   s = 1 / (1 + std::exp(-g));
      ASSERT_NEAR(y.at(0, j), silu(g) * u, 1e-6 * (1 + std::abs(silu(g) * u))) << n;
      ASSERT_NEAR(dgate_up.at(0, j), d * u * s * (1 + g * (1 - s)), 2e-5) << g;
      ASSERT_NEAR(dgate_up.at(0, n + j), d * silu(g), 1e-6 * (1 + std::abs(d * silu(g))));
    }
  }
}

TEST(Embedding, RowsByIdAndRepeatedIdsAddUp) {
  RandomStream stream(6, 1);
  const RandomMatrix table(11, 70, stream, 1, 2);
  const std::vector<int32_t> ids{3, 0, 10, 3, 3};
  RandomMatrix out(5, 70, stream, 1, 1), dtable(11, 70, stream);
  embedding(table.input(), ids.data(), out.view());
  for (int64_t j = 0; j < 70; ++j) {
    EXPECT_EQ(out.at(2, j), table.at(10, j));
    EXPECT_EQ(out.at(4, j), table.at(3, j));
  }
  const RandomMatrix before = dtable;
  embedding_backward(ids.data(), out.view(), dtable.view());
  for (int64_t j = 0; j < 70; ++j) {
    EXPECT_EQ(dtable.at(3, j), before.at(3, j) + out.at(0, j) + out.at(3, j) + out.at(4, j));
    EXPECT_EQ(dtable.at(5, j), before.at(5, j));
  }
}

struct Distribution {
  double logprob, logsumexp, entropy;
  std::vector<double> p;
};

Distribution exact_distribution(const RandomMatrix& logits, int64_t row, int64_t target,
                                double inverse_temperature) {
  Distribution found{0, 0, 0, {}};
  double top = -INFINITY, sum = 0;
  for (int64_t j = 0; j < logits.cols; ++j)
    top = std::max(top, static_cast<double>(logits.at(row, j)) * inverse_temperature);
  for (int64_t j = 0; j < logits.cols; ++j) {
    found.p.push_back(std::exp(static_cast<double>(logits.at(row, j)) * inverse_temperature - top));
    sum += found.p.back();
  }
  found.logsumexp = top + std::log(sum);
  for (double& p : found.p) {
    p /= sum;
    if (p > 0) found.entropy -= p * std::log(p);
  }
  found.logprob = static_cast<double>(logits.at(row, target)) * inverse_temperature - found.logsumexp;
  return found;
}

TEST(ChosenLogprob, EqualsTheDefinition) {
  RandomStream stream(7, 1);
  for (const int64_t vocabulary : {1, 2, 17, 2048, 2049, 5000, 49152}) {
    for (const float inverse_temperature : {1.0F, 1 / 0.7F, 4.0F}) {
      RandomMatrix logits(3, vocabulary, stream, 3, 1);
      if (vocabulary > 3000) logits.at(1, 2900) = 60;  // a later stretch raises the largest
      if (vocabulary > 16) logits.at(2, 16) = -INFINITY;
      const std::vector<int32_t> targets{0, static_cast<int32_t>(vocabulary - 1),
                                         static_cast<int32_t>(vocabulary / 2)};
      std::vector<float> logprob(3), logsumexp(3), entropy(3);
      chosen_logprob(logits.view(), targets.data(), inverse_temperature, logprob.data(), logsumexp.data(),
                     entropy.data());
      for (size_t i = 0; i < 3; ++i) {
        const auto expected = exact_distribution(logits, static_cast<int64_t>(i), targets[i],
                                                 static_cast<double>(inverse_temperature));
        const double scale = 1 + std::abs(expected.logsumexp) + std::abs(expected.logprob);
        EXPECT_NEAR(logprob[i], expected.logprob, 5e-7 * scale) << vocabulary;
        EXPECT_NEAR(logsumexp[i], expected.logsumexp, 5e-7 * scale) << vocabulary;
        EXPECT_NEAR(entropy[i], expected.entropy, 1e-5) << vocabulary;
      }
      std::vector<float> alone(3);
      chosen_logprob(logits.view(), targets.data(), inverse_temperature, alone.data(), nullptr, nullptr);
      EXPECT_EQ(alone, logprob);
    }
  }
}

TEST(ChosenLogprob, ANanIsNotHidden) {
  RandomStream stream(8, 1);
  RandomMatrix logits(1, 300, stream);
  logits.at(0, 250) = NAN;
  const int32_t target = 3;
  float logprob = 0;
  chosen_logprob(logits.view(), &target, 1, &logprob, nullptr, nullptr);
  EXPECT_TRUE(std::isnan(logprob));
}

TEST(ChosenLogprob, BackwardEqualsTheFormula) {
  RandomStream stream(9, 1);
  for (const int64_t vocabulary : {1, 2, 17, 3000}) {
    for (const bool with_entropy : {false, true}) {
      RandomMatrix logits(2, vocabulary, stream, 2, 1);
      if (vocabulary > 16) logits.at(1, 5) = -INFINITY;
      const RandomMatrix before = logits;
      const std::vector<int32_t> targets{0, static_cast<int32_t>(vocabulary - 1)};
      const float t = 1 / 0.8F;
      const std::vector<float> dlogprob{0.7F, -1.3F}, dentropy{-0.4F, 0.9F};
      std::vector<float> logprob(2), logsumexp(2), entropy(2);
      chosen_logprob(logits.view(), targets.data(), t, logprob.data(), logsumexp.data(), entropy.data());
      chosen_logprob_backward(logits.view(), targets.data(), t, logsumexp.data(), dlogprob.data(),
                              with_entropy ? entropy.data() : nullptr,
                              with_entropy ? dentropy.data() : nullptr);
      for (size_t i = 0; i < 2; ++i) {
        const auto exact =
            exact_distribution(before, static_cast<int64_t>(i), targets[i], static_cast<double>(t));
        for (int64_t j = 0; j < vocabulary; ++j) {
          const double p = exact.p[static_cast<size_t>(j)];
          double expected = static_cast<double>(dlogprob[i]) * ((j == targets[i] ? 1.0 : 0.0) - p);
          if (with_entropy && p > 0)
            expected -= static_cast<double>(dentropy[i]) * p * (std::log(p) + exact.entropy);
          ASSERT_NEAR(logits.at(static_cast<int64_t>(i), j), static_cast<double>(t) * expected, 2e-6)
              << vocabulary << " at " << j;
        }
      }
    }
  }
}

TEST(LowRank, EqualsTheDefinition) {
  RandomStream stream(10, 1);
  for (const int64_t rows : {1, 2, 8, 50}) {
    for (const int64_t rank : {1, 8, 16, 20, 256}) {
      const RandomMatrix x(rows, 100, stream, 0.5, 1), a(100, rank, stream, 0.1, 2),
          b(rank, 77, stream, 0.1, 3);
      RandomMatrix y(rows, 77, stream, 1, 4);
      const RandomMatrix before = y;
      low_rank_add(x.input(), a.input(), b.input(), 2.0F, y.view());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < 77; ++j) {
          double sum = 0;
          for (int64_t r = 0; r < rank; ++r) {
            double inner = 0;
            for (int64_t d = 0; d < 100; ++d)
              inner += static_cast<double>(x.at(i, d)) * static_cast<double>(a.at(d, r));
            sum += inner * static_cast<double>(b.at(r, j));
          }
          ASSERT_NEAR(y.at(i, j), static_cast<double>(before.at(i, j)) + 2 * sum, 1e-5)
              << rows << ", rank " << rank;
        }
      }
    }
  }
}

// Values of torch.optim.AdamW(lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.01) follow from the paper's
// formulas, which are written out here in double over three steps.
TEST(AdamW, EqualsThePaperOverSeveralSteps) {
  RandomStream stream(11, 1);
  const int64_t n = 10001;
  RandomMatrix weights(1, n, stream);
  std::vector<double> exact(weights.values.begin(), weights.values.end()), m(exact.size()), v(exact.size());
  std::vector<float> first(exact.size()), second(exact.size());
  for (int t = 1; t <= 3; ++t) {
    const RandomMatrix grads(1, n, stream);
    const AdamStep step{.lr = 0.1F,
                        .beta1 = 0.9F,
                        .beta2 = 0.99F,
                        .eps = 1e-8F,
                        .weight_decay = 0.01F,
                        .correction1 = static_cast<float>(1 - std::pow(0.9, t)),
                        .correction2 = static_cast<float>(1 - std::pow(0.99, t)),
                        .grad_scale = 0.5F};
    adamw(weights.values.data(), grads.values.data(), first.data(), second.data(), n, step);
    for (size_t i = 0; i < exact.size(); ++i) {
      const double g = 0.5 * static_cast<double>(grads.values[i]);
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      const double update =
          m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.99, t))) + 1e-8);
      exact[i] -= 0.1 * (update + 0.01 * exact[i]);
    }
  }
  for (size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(weights.values[i], exact[i], 3e-6);
}

TEST(SumOfSquares, IsExactInDouble) {
  RandomStream stream(12, 1);
  for (const int64_t n : {0, 1, 15, 16384, 16385, 100003}) {
    const RandomMatrix x(1, n, stream);
    double expected = 0;
    for (const float value : x.values) expected += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_NEAR(sum_of_squares(x.values.data(), n), expected, 1e-12 * (1 + expected));
  }
}

TEST(ToBf16, RoundsToNearestEven) {
  const std::vector<std::pair<uint32_t, uint16_t>> cases{
      {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
      {0xbf80ffff, 0xbf81}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f7fffff, 0x7f80},
      {0x00000001, 0x0000}, {0x80000000, 0x8000}};
  for (const int64_t n : {1, 5, 40}) {
    std::vector<float> x;
    for (int64_t i = 0; i < n; ++i)
      x.push_back(std::bit_cast<float>(cases[static_cast<size_t>(i) % cases.size()].first));
    std::vector<uint16_t> y(x.size() + 1, 7);
    to_bf16({x.data(), 1, n, n, 1}, y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], cases[i % cases.size()].second) << i;
    EXPECT_EQ(y.back(), 7);
  }
  const float nan = std::bit_cast<float>(0x7f800001U);  // would round to infinity
  uint16_t y = 0;
  to_bf16({&nan, 1, 1, 1, 1}, &y, 1);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<uint32_t>(y) << 16)));
}

TEST(Rows, NumberOfThreadsDoesNotMatter) {
#ifndef _OPENMP
  GTEST_SKIP() << "built without OpenMP";
#else
  const auto results = [](int threads) {
    omp_set_num_threads(threads);
    RandomStream stream(13, 1);
    const RandomMatrix x(301, 576, stream), dy(301, 576, stream), a(576, 16, stream, 0.1),
        b(16, 576, stream, 0.1);
    RandomMatrix y(301, 576, stream), dx(301, 576, stream);
    std::vector<float> inverse(301), dweight(576);
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 301; ++i) ids.push_back(i * 7 % 19);
    rms_norm(x.input(), a.values.data(), 1e-5F, y.view(), inverse.data());
    rms_norm_backward(x.input(), a.values.data(), inverse.data(), dy.input(), dx.view(), dweight.data());
    low_rank_add(x.input(), a.input(), b.input(), 1, y.view());
    embedding_backward(ids.data(), dy.input(), dx.view());
    for (const auto& part : {dx.values, dweight, inverse})
      y.values.insert(y.values.end(), part.begin(), part.end());
    y.values.push_back(static_cast<float>(sum_of_squares(x.values.data(), 301 * 576)));
    return y.values;
  };
  const int most = omp_get_max_threads();
  const auto one = results(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(results(threads), one) << threads << " threads";
  omp_set_num_threads(most);
#endif
}

}  // namespace
}  // namespace nereus::kernels
