#include "nereus/kernels/attention.h"

#include <gtest/gtest.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "nereus/kernels/attention_kernels.h"
#include "tests/kernels/random_matrix.h"

namespace nereus::kernels {
namespace {

/// A batch: queries of some sequences over a store of keys and values.
struct Batch {
  std::string title;
  std::vector<QueryRun> runs;
  std::vector<KeySpan> spans;
  int64_t queries, keys;
  AttentionPlan plan() const { return {runs, spans}; }
};

/// Independent sequences, each its own keys.
Batch packed(const std::string& title, const std::vector<int64_t>& lengths) {
  Batch batch{title, {}, {}, 0, 0};
  for (const int64_t length : lengths) {
    batch.runs.push_back({batch.queries, length, static_cast<int64_t>(batch.spans.size()), 1});
    batch.spans.push_back({batch.queries, length});
    batch.queries += length;
  }
  batch.keys = batch.queries;
  return batch;
}

/// A system prompt, prompts below it, completions below each prompt: every node's rows are computed once.
Batch forest(int64_t system, int64_t prompts, int64_t prompt, int64_t completions, int64_t completion) {
  Batch batch{"forest", {}, {}, 0, 0};
  const auto add = [&](const std::vector<KeySpan>& ancestors, int64_t length) {
    const KeySpan own{batch.queries, length};
    batch.runs.push_back({batch.queries, length, static_cast<int64_t>(batch.spans.size()),
                          static_cast<int64_t>(ancestors.size()) + 1});
    batch.spans.insert(batch.spans.end(), ancestors.begin(), ancestors.end());
    batch.spans.push_back(own);
    batch.queries += length;
    return own;
  };
  const KeySpan root = add({}, system);
  for (int64_t p = 0; p < prompts; ++p) {
    const KeySpan middle = add({root}, prompt);
    for (int64_t c = 0; c < completions; ++c) add({root, middle}, completion + c);
  }
  batch.keys = batch.queries;
  return batch;
}

/// Sequences in blocks of `block` rows scattered over the store, of which the last `rows` positions are
/// queried.
Batch paged(const std::string& title, const std::vector<int64_t>& lengths, int64_t rows, int64_t block) {
  Batch batch{title, {}, {}, 0, 0};
  int64_t blocks = 0;
  for (const int64_t length : lengths) blocks += (length + block - 1) / block;
  int64_t used = 0;
  for (const int64_t length : lengths) {
    const int64_t mine = (length + block - 1) / block;
    batch.runs.push_back({batch.queries, rows, static_cast<int64_t>(batch.spans.size()), mine + 1});
    for (int64_t i = 0; i < mine; ++i) {
      const int64_t scattered = (used++ * 7) % blocks;
      batch.spans.push_back({scattered * block, std::min(block, length - i * block)});
      if (i == 0) batch.spans.push_back({0, 0});  // empty spans are allowed
    }
    batch.queries += rows;
  }
  batch.keys = blocks * block;
  return batch;
}

/// 7 and the number of blocks must share no factor for `paged` to scatter.
std::vector<Batch> batches() {
  return {packed("one query", {1}),
          packed("short", {3, 1, 17}),
          packed("longer than a tile", {130, 65}),
          forest(5, 3, 20, 4, 30),
          forest(70, 2, 1, 3, 66),
          paged("decode", {1, 15, 16, 17, 63, 64, 65, 200}, 1, 16),
          paged("prefill of a chunk", {40, 75, 130}, 37, 16)};
}

struct Problem {
  Problem(const Batch& batch, const AttentionShape& s, uint64_t seed)
      : shape(s),
        stream(seed, 1),
        q(batch.queries, s.heads * s.head_dim, stream, 1.5, 8),
        k(batch.keys, s.kv_heads * s.head_dim, stream, 1, 8),
        v(batch.keys, s.kv_heads * s.head_dim, stream, 1, 8),
        dout(batch.queries, s.heads * s.head_dim, stream) {}

  KeyValueStore store() const { return {k.values.data(), v.values.data(), k.stride, Element::f32}; }

  AttentionShape shape;
  RandomStream stream;
  RandomMatrix q, k, v, dout;
};

AttentionShape shape_of(int64_t heads, int64_t kv_heads, int64_t head_dim) {
  return {heads, kv_heads, head_dim, 1.0F / std::sqrt(static_cast<float>(head_dim))};
}

struct Reference {
  std::vector<double> out, logsumexp, dq, dk, dv;
};

/// Attention and its gradients in double, written as the formulas are.
class Exact {
 public:
  Exact(const Problem& problem, const Batch& batch) : problem_(problem), shape_(problem.shape) {
    const auto queries = static_cast<size_t>(batch.queries * shape_.heads * shape_.head_dim);
    const auto keys = static_cast<size_t>(batch.keys * shape_.kv_heads * shape_.head_dim);
    result_.out.resize(queries);
    result_.dq.resize(queries);
    result_.logsumexp.resize(static_cast<size_t>(batch.queries * shape_.heads));
    result_.dk.resize(keys);
    result_.dv.resize(keys);
    for (const QueryRun& run : batch.runs) {
      std::vector<int64_t> rows;
      for (int64_t s = 0; s < run.span_count; ++s) {
        const KeySpan span = batch.spans[static_cast<size_t>(run.first_span + s)];
        for (int64_t i = 0; i < span.length; ++i) rows.push_back(span.start + i);
      }
      for (int64_t i = 0; i < run.rows; ++i) {
        const auto seen = rows.size() - static_cast<size_t>(run.rows - 1 - i);
        for (int64_t h = 0; h < shape_.heads; ++h) query(run.first_row + i, h, {rows.data(), seen});
      }
    }
  }
  const Reference& result() const { return result_; }

 private:
  void query(int64_t row, int64_t head, std::span<const int64_t> keys) {
    const int64_t dim = shape_.head_dim, from = head * dim,
                  key_from = head / (shape_.heads / shape_.kv_heads) * dim;
    const int64_t width = shape_.heads * dim, key_width = shape_.kv_heads * dim;
    std::vector<double> p(keys.size()), dp(keys.size());
    double top = -INFINITY, sum = 0, mean = 0;
    for (size_t j = 0; j < keys.size(); ++j) {
      for (int64_t d = 0; d < dim; ++d)
        p[j] += problem_.q.at(row, from + d) * static_cast<double>(problem_.k.at(keys[j], key_from + d));
      p[j] *= static_cast<double>(shape_.scale);
      top = std::max(top, p[j]);
    }
    for (double& x : p) sum += std::exp(x - top);
    result_.logsumexp[static_cast<size_t>(row * shape_.heads + head)] = top + std::log(sum);
    for (size_t j = 0; j < keys.size(); ++j) {
      p[j] = std::exp(p[j] - top) / sum;
      for (int64_t d = 0; d < dim; ++d) {
        const double value = problem_.v.at(keys[j], key_from + d), dout = problem_.dout.at(row, from + d);
        result_.out[static_cast<size_t>(row * width + from + d)] += p[j] * value;
        result_.dv[static_cast<size_t>(keys[j] * key_width + key_from + d)] += p[j] * dout;
        dp[j] += dout * value;
      }
      mean += p[j] * dp[j];
    }
    for (size_t j = 0; j < keys.size(); ++j) {
      const double ds = p[j] * (dp[j] - mean) * static_cast<double>(shape_.scale);
      for (int64_t d = 0; d < dim; ++d) {
        result_.dq[static_cast<size_t>(row * width + from + d)] += ds * problem_.k.at(keys[j], key_from + d);
        result_.dk[static_cast<size_t>(keys[j] * key_width + key_from + d)] +=
            ds * problem_.q.at(row, from + d);
      }
    }
  }

  const Problem& problem_;
  AttentionShape shape_;
  Reference result_;
};

void expect_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - expected[i]);
    if (!(error <= worst)) worst = error;
  }
  EXPECT_LE(worst, tolerance) << what;
}

std::vector<AttentionShape> shapes() {
  return {shape_of(9, 3, 64), shape_of(4, 4, 8), shape_of(14, 2, 24), shape_of(6, 1, 128),
          shape_of(2, 1, 256)};
}

std::string describe(const Batch& batch, const AttentionShape& shape, Isa isa) {
  return batch.title + ", heads " + std::to_string(shape.heads) + "/" + std::to_string(shape.kv_heads) +
         " of " + std::to_string(shape.head_dim) + ", " + name(isa);
}

struct Outputs {
  std::vector<float> out, logsumexp, dq, dk, dv;
};

Matrix dense(std::vector<float>& values, int64_t rows, int64_t cols) {
  values.assign(static_cast<size_t>(rows * cols), 0.0F);
  return {values.data(), rows, cols, cols, 1};
}

Outputs run(const AttentionKernels& kernels, const Problem& problem, const Batch& batch) {
  const int64_t width = problem.q.cols, key_width = problem.k.cols;
  Outputs found;
  const Matrix out = dense(found.out, batch.queries, width);
  dense(found.logsumexp, batch.queries, problem.shape.heads);
  attention_forward(kernels, problem.shape, batch.plan(), problem.q.view(), problem.store(), out,
                    found.logsumexp.data());
  const Matrix dq = dense(found.dq, batch.queries, width);
  const Matrix dk = dense(found.dk, batch.keys, key_width), dv = dense(found.dv, batch.keys, key_width);
  const ConstMatrix outputs{out.data, out.rows, out.cols, out.row_stride, 1};
  attention_backward(kernels, problem.shape, batch.plan(), problem.q.view(), problem.k.view(),
                     problem.v.view(), outputs, found.logsumexp.data(), problem.dout.view(), dq, dk, dv);
  return found;
}

TEST(Attention, ForwardAndBackwardEqualTheFormulasInDouble) {
  for (const Batch& batch : batches()) {
    for (const AttentionShape& shape : shapes()) {
      if (batch.queries > 150 && shape.head_dim != 64) continue;  // the reference takes its time
      const Problem problem(batch, shape, 11);
      const Exact exact(problem, batch);
      const Reference& expected = exact.result();
      for (const Isa isa : supported_isas()) {
        const auto title = describe(batch, shape, isa);
        const Outputs found = run(attention_kernels(isa), problem, batch);
        expect_near(found.out, expected.out, 5e-6, title + ": out");
        expect_near(found.logsumexp, expected.logsumexp, 5e-6, title + ": logsumexp");
        expect_near(found.dq, expected.dq, 3e-5, title + ": dq");
        expect_near(found.dk, expected.dk, 1e-4, title + ": dk");
        expect_near(found.dv, expected.dv, 3e-5, title + ": dv");
      }
    }
  }
}

TEST(Attention, NarrowStoreEqualsItsValuesInFloat) {
  for (const Batch& batch : batches()) {
    for (const AttentionShape& shape : {shape_of(9, 3, 64), shape_of(4, 2, 24)}) {
      Problem problem(batch, shape, 12);
      std::vector<uint16_t> keys, values;
      const auto narrow = [](std::vector<float>& from, std::vector<uint16_t>& to) {
        for (float& x : from) {
          to.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16));
          x = std::bit_cast<float>(static_cast<uint32_t>(to.back()) << 16);
        }
      };
      narrow(problem.k.values, keys);
      narrow(problem.v.values, values);
      const KeyValueStore store{keys.data(), values.data(), problem.k.stride, Element::bf16};
      for (const Isa isa : supported_isas()) {
        std::vector<float> wide_out, out;
        const Matrix wide = dense(wide_out, batch.queries, problem.q.cols),
                     narrowed = dense(out, batch.queries, problem.q.cols);
        attention_forward(attention_kernels(isa), shape, batch.plan(), problem.q.view(), problem.store(),
                          wide, nullptr);
        attention_forward(attention_kernels(isa), shape, batch.plan(), problem.q.view(), store, narrowed,
                          nullptr);
        EXPECT_EQ(out, wide_out) << describe(batch, shape, isa);
      }
    }
  }
}

TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
  const Batch batch = packed("large", {130});
  Problem problem(batch, shape_of(2, 1, 64), 13);
  for (float& x : problem.q.values) x *= 300.0F;
  const Exact exact(problem, batch);
  for (const Isa isa : supported_isas()) {
    const Outputs found = run(attention_kernels(isa), problem, batch);
    expect_near(found.out, exact.result().out, 2e-3, name(isa));
  }
}

TEST(Attention, NumberOfThreadsDoesNotMatter) {
#ifndef _OPENMP
  GTEST_SKIP() << "built without OpenMP";
#else
  for (const Batch& batch : {forest(70, 2, 40, 6, 66), packed("packed", {256, 256, 100, 30}),
                             paged("decode", {900, 1200, 33, 800}, 1, 16)}) {
    const Problem problem(batch, shape_of(9, 3, 64), 14);
    const auto& kernels = attention_kernels(best_isa());
    const int most = omp_get_max_threads();
    omp_set_num_threads(1);
    const Outputs one = run(kernels, problem, batch);
    for (const int threads : {2, 3, 7}) {
      omp_set_num_threads(threads);
      const Outputs several = run(kernels, problem, batch);
      EXPECT_EQ(one.out, several.out) << batch.title;
      EXPECT_EQ(one.dq, several.dq) << batch.title;
      EXPECT_EQ(one.dk, several.dk) << batch.title;
      EXPECT_EQ(one.dv, several.dv) << batch.title;
    }
    omp_set_num_threads(most);
  }
#endif
}

TEST(Attention, BackwardAddsToKeysAndValues) {
  const Batch batch = forest(10, 2, 5, 2, 8);
  const Problem problem(batch, shape_of(9, 3, 64), 15);
  Outputs found = run(attention_kernels(best_isa()), problem, batch);
  const auto once = found.dk;
  const Matrix dk{found.dk.data(), batch.keys, problem.k.cols, problem.k.cols, 1};
  const Matrix dv{found.dv.data(), batch.keys, problem.k.cols, problem.k.cols, 1};
  const Matrix dq{found.dq.data(), batch.queries, problem.q.cols, problem.q.cols, 1};
  const ConstMatrix out{found.out.data(), batch.queries, problem.q.cols, problem.q.cols, 1};
  attention_backward(problem.shape, batch.plan(), problem.q.view(), problem.k.view(), problem.v.view(), out,
                     found.logsumexp.data(), problem.dout.view(), dq, dk, dv);
  std::vector<double> twice(once.begin(), once.end());
  for (double& x : twice) x *= 2;
  expect_near(found.dk, twice, 1e-4, "dk");
}

TEST(Attention, NothingToDo) {
  const AttentionPlan none;
  attention_forward(shape_of(9, 3, 64), none, {}, {}, {}, nullptr);
  attention_backward(shape_of(9, 3, 64), none, {}, {}, {}, {}, nullptr, {}, {}, {}, {});
}

}  // namespace
}  // namespace nereus::kernels
