// Speed of the CPU kernels at the sizes of SmolLM2-135M: GFLOP/s of products, GB/s of what only reads memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "nereus/kernels/attention.h"
#include "nereus/kernels/gemm.h"
#include "nereus/kernels/library_product.h"
#include "nereus/kernels/rows.h"

namespace nereus::kernels {
namespace {

std::vector<float> values(int64_t count) {
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = std::sin(static_cast<float>(i) * 0.37F);
  return result;
}

Matrix view(std::vector<float>& data, int64_t rows, int64_t cols) {
  return {data.data(), rows, cols, cols, 1};
}

void report(benchmark::State& state, int64_t products, int64_t bytes) {
  const auto rate = [&](double each) {
    return benchmark::Counter(each * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  };
  if (products > 0) state.counters["GFLOP/s"] = rate(2e-9 * static_cast<double>(products));
  if (bytes > 0) state.counters["GB/s"] = rate(1e-9 * static_cast<double>(bytes));
}

/// Copies of one layer's weights, so many that they come from memory, as in a decode step.
std::vector<PackedWeights> layers(int64_t in, int64_t out, Element element, Precision precision) {
  constexpr int64_t kBytes = 200'000'000;
  const std::vector<float> weights = values(in * out);
  const int64_t copies = std::clamp<int64_t>(kBytes / (in * out * 4), 1, 60);
  std::vector<PackedWeights> result;
  for (int64_t i = 0; i < copies; ++i)
    result.emplace_back(ConstMatrix{weights.data(), out, in, in, 1}, element, precision);
  return result;
}

/// Arguments: rows, in, out, 0 for fp32, 1 for bf16, 2 for fp32 of high precision.
void packed_product(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const Precision precision = state.range(3) == 2 ? Precision::high : Precision::highest;
  const auto weights = layers(k, n, state.range(3) == 1 ? Element::bf16 : Element::f32, precision);
  auto x = values(m * k), y = values(m * n);
  size_t layer = 0;
  for (auto _ : state) {
    weights[layer].multiply(view(x, m, k), view(y, m, n));
    layer = (layer + 1) % weights.size();
  }
  report(state, m * k * n, weights[0].bytes());
}

void products(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t bf16 : {0, 1, 2}) {
    if (bf16 != 0 && !has_fast_bf16()) continue;
    for (const int64_t m : {1, 8, 32, 64, 256, 1024}) {
      benchmark->Args({m, 576, 960, bf16})->Args({m, 576, 576, bf16})->Args({m, 576, 3072, bf16});
      benchmark->Args({m, 1536, 576, bf16});
      if (m <= 64) benchmark->Args({m, 576, 49152, bf16});
    }
  }
}
BENCHMARK(packed_product)->Apply(products)->UseRealTime()->MinTime(0.1);

/// The same products by oneDNN alone, for comparison.
void library_product(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  if (!library_reads(k, n, Element::f32)) return state.SkipWithError("oneDNN reads no such layout here");
  const int64_t copies = std::clamp<int64_t>(200'000'000 / (k * n * 4), 1, 60);
  const std::vector<std::vector<float>> weights(static_cast<size_t>(copies), values(k * n));
  auto x = values(m * k), y = values(m * n);
  size_t layer = 0;
  for (auto _ : state) {
    library_multiply({weights[layer].data(), k, n, Element::f32}, x.data(), k, view(y, m, n), false);
    layer = (layer + 1) % weights.size();
  }
  report(state, m * k * n, k * n * 4);
}
BENCHMARK(library_product)
    ->ArgsProduct({{1, 8, 32, 64, 256, 1024}, {576}, {960, 3072, 49152}})
    ->UseRealTime()
    ->MinTime(0.1);

/// Arguments: rows, which of forward x·Wᵀ, dx = dy·W, dW += dyᵀ·x, precision.
void plain_product(benchmark::State& state) {
  const Precision precision = state.range(2) != 0 ? Precision::high : Precision::highest;
  const int64_t m = state.range(0), k = 576, n = 3072;
  auto x = values(m * k), y = values(m * n), w = values(k * n);
  for (auto _ : state) {
    if (state.range(1) == 0) gemm(view(x, m, k), view(w, n, k).transposed(), view(y, m, n));
    if (state.range(1) == 1) gemm(view(y, m, n), view(w, n, k), view(x, m, k), 0, precision);
    if (state.range(1) == 2) gemm(view(y, m, n).transposed(), view(x, m, k), view(w, n, k), 1, precision);
  }
  report(state, m * k * n, 0);
}
BENCHMARK(plain_product)->ArgsProduct({{256, 2048}, {0, 1, 2}, {0, 1}})->UseRealTime()->MinTime(0.1);

const AttentionShape kShape{9, 3, 64, 0.125F};

/// Arguments: sequences, length, bf16. Keys in scattered blocks of 16 rows.
void decode_attention(benchmark::State& state) {
  const int64_t runs = state.range(0), length = state.range(1), blocks = (length + 15) / 16;
  const Element element = state.range(2) != 0 ? Element::bf16 : Element::f32;
  std::vector<QueryRun> queries;
  std::vector<KeySpan> spans;
  for (int64_t i = 0; i < runs; ++i) {
    queries.push_back({i, 1, static_cast<int64_t>(spans.size()), blocks});
    for (int64_t b = 0; b < blocks; ++b)
      spans.push_back({(b * runs + i) * 16, std::min<int64_t>(16, length - b * 16)});
  }
  const int64_t bytes = runs * length * 192 * 2 * (element == Element::bf16 ? 2 : 4);
  const auto copies = static_cast<size_t>(std::clamp<int64_t>(200'000'000 / bytes, 1, 30));
  std::vector<std::vector<float>> keys(copies, values(runs * blocks * 16 * 192));
  if (element == Element::bf16) {
    for (auto& layer : keys) {
      const auto count = static_cast<int64_t>(layer.size());
      to_bf16({layer.data(), 1, count, count, 1}, reinterpret_cast<uint16_t*>(layer.data()), count);
    }
  }
  const auto store = keys;
  auto q = values(runs * 576), out = q;
  size_t layer = 0;
  for (auto _ : state) {
    attention_forward(kShape, {queries, spans}, view(q, runs, 576),
                      {keys[layer].data(), store[layer].data(), 192, element}, view(out, runs, 576), nullptr);
    layer = (layer + 1) % copies;
  }
  report(state, runs * length * 576 * 2, bytes);
}
BENCHMARK(decode_attention)
    ->ArgsProduct({{1, 8, 32, 64}, {64, 128, 512, 2000}, {0, 1}})
    ->UseRealTime()
    ->MinTime(0.1);

/// Arguments: prompts, tokens of a prompt, completions of each, tokens of a completion, backward.
void training_attention(benchmark::State& state) {
  std::vector<QueryRun> runs;
  std::vector<KeySpan> spans;
  int64_t rows = 0, pairs = 0;
  const auto add = [&](const std::vector<KeySpan>& above, int64_t length) {
    const KeySpan own{rows, length};
    runs.push_back(
        {rows, length, static_cast<int64_t>(spans.size()), static_cast<int64_t>(above.size()) + 1});
    spans.insert(spans.end(), above.begin(), above.end());
    spans.push_back(own);
    rows += length;
    pairs += length * (length + 1) / 2;
    for (const KeySpan& span : above) pairs += length * span.length;
    return own;
  };
  for (int64_t p = 0; p < state.range(0); ++p) {
    const KeySpan prompt = add({}, state.range(1));
    for (int64_t c = 0; c < state.range(2); ++c) add({prompt}, state.range(3));
  }
  auto q = values(rows * 576), k = values(rows * 192), v = k, out = q, dq = q, dk = k, dv = v;
  std::vector<float> sums(static_cast<size_t>(rows * 9));
  const AttentionPlan plan{runs, spans};
  attention_forward(kShape, plan, view(q, rows, 576), {k.data(), v.data(), 192, Element::f32},
                    view(out, rows, 576), sums.data());
  for (auto _ : state) {
    if (state.range(4) == 0) {
      attention_forward(kShape, plan, view(q, rows, 576), {k.data(), v.data(), 192, Element::f32},
                        view(out, rows, 576), sums.data());
    } else {
      attention_backward(kShape, plan, view(q, rows, 576), view(k, rows, 192), view(v, rows, 192),
                         view(out, rows, 576), sums.data(), view(q, rows, 576), view(dq, rows, 576),
                         view(dk, rows, 192), view(dv, rows, 192));
    }
  }
  report(state, pairs * 576 * (state.range(4) == 0 ? 2 : 5), 0);
}
BENCHMARK(training_attention)
    ->ArgsProduct({{8}, {256}, {0}, {0}, {0, 1}})
    ->ArgsProduct({{4}, {40}, {8}, {64}, {0, 1}})
    ->ArgsProduct({{1}, {2048}, {0}, {0}, {0, 1}})
    ->UseRealTime()
    ->MinTime(0.1);

void log_probabilities(benchmark::State& state) {
  const int64_t rows = 256, vocabulary = 49152;
  auto logits = values(rows * vocabulary);
  std::vector<int32_t> targets(rows, 7);
  std::vector<float> logprob(rows), logsumexp(rows), entropy(rows);
  for (auto _ : state) {
    chosen_logprob(view(logits, rows, vocabulary), targets.data(), 1.0F, logprob.data(), logsumexp.data(),
                   entropy.data());
  }
  report(state, 0, rows * vocabulary * 4);
}
BENCHMARK(log_probabilities)->UseRealTime()->MinTime(0.1);

/// Arguments: rows.
void adapter(benchmark::State& state) {
  const int64_t m = state.range(0);
  auto x = values(m * 576), a = values(576 * 16), b = values(16 * 960), y = values(m * 960);
  for (auto _ : state)
    low_rank_add(view(x, m, 576), view(a, 576, 16), view(b, 16, 960), 1.0F, view(y, m, 960));
  report(state, m * 16 * (576 + 960), 0);
}
BENCHMARK(adapter)->Arg(1)->Arg(8)->Arg(32)->UseRealTime()->MinTime(0.1);

void rows_of_a_layer(benchmark::State& state) {
  const int64_t rows = 2048;
  auto x = values(rows * 576), y = x, gate_up = values(rows * 3072), gated = values(rows * 1536);
  const auto weight = values(576);
  std::vector<float> frequencies(32, 0.1F);
  std::vector<int32_t> positions(rows, 100);
  for (auto _ : state) {
    rms_norm(view(x, rows, 576), weight.data(), 1e-5F, view(y, rows, 576), nullptr);
    rotary(view(y, rows, 576), 9, 64, positions.data(), frequencies.data(), 1);
    swiglu(view(gate_up, rows, 3072), view(gated, rows, 1536));
  }
  report(state, 0, rows * 4 * (4 * 576 + 3072 + 1536));
}
BENCHMARK(rows_of_a_layer)->UseRealTime()->MinTime(0.1);

}  // namespace
}  // namespace nereus::kernels
