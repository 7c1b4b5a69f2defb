// Transitions of Llama-3-8B between layouts of 1,024 devices: seconds to build the graph, and predicted time
// over the bound (the busiest endpoint's bytes over its bandwidth).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "nereus/elastic/transition.h"

namespace nereus::elastic {
namespace {

constexpr int32_t kDevices = 1024;

cluster::Cluster a100_cluster() {
  const cluster::DeviceKind a100{.name = "A100-80",
                                 .memory = 80e9,
                                 .flops = 312e12,
                                 .memory_bandwidth = 2e12,
                                 .link_bandwidth = 300e9,
                                 .host_bandwidth = 25e9,
                                 .context = 1.5e9};
  cluster::Cluster cluster;
  for (int32_t i = 0; i < kDevices / 8; ++i) {
    cluster.machines.push_back({.name = fmt::format("m{}", i),
                                .kind = a100,
                                .devices = 8,
                                .host_memory = 1e12,
                                .network_bandwidth = 200e9});
  }
  return cluster;
}

plan::Job llama3_8b_job() {
  spec::ModelConfig config;
  config.vocab = 128256;
  config.hidden = 4096;
  config.intermediate = 14336;
  config.layers = 32;
  config.heads = 32;
  config.kv_heads = 8;
  config.head_dim = 128;
  plan::Job job;
  job.models.push_back({plan::Role::actor, config, 0});
  return job;
}

plan::Plan plan_of(int64_t pp, int64_t tp, int64_t zero) {
  plan::Placement placement;
  placement.what = {plan::Role::actor, plan::Stage::train};
  placement.layout.pp = static_cast<int32_t>(pp);
  placement.layout.tp = static_cast<int32_t>(tp);
  placement.layout.dp = kDevices / static_cast<int32_t>(pp * tp);
  placement.zero = static_cast<int32_t>(zero);
  placement.devices.resize(kDevices);
  std::iota(placement.devices.begin(), placement.devices.end(), 0);
  return {{placement}};
}

/// Memory is made not to bind, so that layouts can be compared that would not fit.
TransitionOptions roomy() {
  TransitionOptions options;
  options.memory_share = 10;
  return options;
}

/// Arguments: pp, tp, zero of the old plan, then of the new one; dp is what is left of 1,024.
void transition(benchmark::State& state) {
  const auto cluster = a100_cluster();
  const auto job = llama3_8b_job();
  const auto from = plan_of(state.range(0), state.range(1), state.range(2));
  const auto to = plan_of(state.range(3), state.range(4), state.range(5));
  double ratio = 1, nodes = 0, moved = 0;
  for (auto _ : state) {
    const auto result = make_transition(cluster, job, from, to, roomy());
    if (!result) return state.SkipWithError(result.error().message.c_str());
    if (result->cost.bound > 0) ratio = result->cost.transfer / result->cost.bound;
    nodes = static_cast<double>(result->graph().nodes.size());
    moved = static_cast<double>(result->cost.moved_bytes);
  }
  state.counters["time/bound"] = ratio;
  state.counters["nodes"] = nodes;
  state.counters["moved_GB"] = moved / 1e9;
}
BENCHMARK(transition)
    ->ArgNames({"pp", "tp", "zero", "to_pp", "to_tp", "to_zero"})
    ->Args({1, 8, 1, 2, 8, 1})
    ->Args({1, 8, 1, 4, 4, 1})
    ->Args({4, 8, 1, 1, 8, 1})
    ->Args({16, 8, 1, 2, 1, 1})
    ->Args({1, 8, 3, 1, 8, 1})
    ->Args({32, 32, 1, 1, 1, 1})
    ->Unit(benchmark::kMillisecond);

/// Every pair of layouts whose axes are powers of two, pipelines up to 32 and tensor groups up to 32: the
/// slowest to build, and the predicted time furthest from the bound of those that take more than a
/// millisecond.
void all_pairs(benchmark::State& state) {
  const auto cluster = a100_cluster();
  const auto job = llama3_8b_job();
  double slowest = 0, furthest = 1;
  int64_t pairs = 0;
  for (auto _ : state) {
    for (int32_t a = 0; a < 36; ++a) {
      for (int32_t b = 0; b < 36; ++b) {
        const auto from = plan_of(1 << a / 6, 1 << a % 6, 1), to = plan_of(1 << b / 6, 1 << b % 6, 1);
        const std::clock_t start = std::clock();
        const auto result = make_transition(cluster, job, from, to, roomy());
        slowest = std::max(slowest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        if (!result) return state.SkipWithError(result.error().message.c_str());
        if (result->cost.bound > 1e-3)
          furthest = std::max(furthest, result->cost.transfer / result->cost.bound);
        ++pairs;
      }
    }
  }
  state.counters["pairs"] = static_cast<double>(pairs);
  state.counters["slowest_ms"] = slowest * 1e3;
  state.counters["time/bound"] = furthest;
}
BENCHMARK(all_pairs)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace nereus::elastic
