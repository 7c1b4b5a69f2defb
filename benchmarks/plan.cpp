// Time of a search: PPO and GRPO jobs on clusters of several sizes, all stages on one pool or on pools of
// their own.
#include <benchmark/benchmark.h>

#include "nereus/plan/search.h"

namespace nereus::plan {
namespace {

spec::ModelConfig llama(bool large) {
  return {.vocab = 128256,
          .hidden = large ? 8192 : 4096,
          .intermediate = large ? 28672 : 14336,
          .layers = large ? 80 : 32,
          .heads = large ? 64 : 32,
          .kv_heads = 8,
          .head_dim = 128,
          .context = 8192};
}

cluster::Cluster machines(int32_t count, int32_t devices) {
  const cluster::DeviceKind kind{.name = "A100-80",
                                 .memory = 80e9,
                                 .flops = 312e12,
                                 .memory_bandwidth = 2.0e12,
                                 .link_bandwidth = 300e9,
                                 .host_bandwidth = 25e9};
  cluster::Cluster cluster;
  for (int32_t i = 0; i < count; ++i)
    cluster.machines.push_back({std::string("m").append(std::to_string(i)), kind, devices, 1e12, 200e9});
  return cluster;
}

Job job_of(bool large, bool ppo) {
  Job job;
  job.models.push_back({Role::actor, llama(large), 0});
  if (ppo) {
    for (const Role role : {Role::critic, Role::reference, Role::reward})
      job.models.push_back({role, llama(large), 0});
  }
  job.lengths = lognormal_lengths(512, 1024, 0.8, 4096);
  return job;
}

/// Arguments: devices, 70B, PPO (with all four models) or GRPO, separate pools too.
void search_time(benchmark::State& state) {
  const auto devices = static_cast<int32_t>(state.range(0));
  const cluster::Cluster cluster = machines(std::max(1, devices / 8), std::min(8, devices));
  const Job job = job_of(state.range(1) != 0, state.range(2) != 0);
  SearchOptions options;
  options.separate_pools = state.range(3) != 0;
  options.deadline = 100;
  SearchResult result;
  for (auto _ : state) {
    result = search(cluster, job, {}, options);
    benchmark::DoNotOptimize(result);
  }
  state.counters["priced"] = static_cast<double>(result.considered);
  state.counters["step_s"] = result.best.empty() ? 0 : result.best[0].time.total;
}
BENCHMARK(search_time)
    ->ArgNames({"devices", "70B", "PPO", "separate"})
    ->ArgsProduct({{8, 64, 1024}, {0}, {0, 1}, {0, 1}})
    ->ArgsProduct({{64, 512}, {1}, {1}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.2);

/// PPO on machines of eight V100-16, where memory is tight. Arguments: devices, separate pools too.
void tight_search_time(benchmark::State& state) {
  cluster::Cluster cluster = machines(static_cast<int32_t>(state.range(0)) / 8, 8);
  for (cluster::Machine& machine : cluster.machines) {
    machine.kind = *cluster::known_device("V100-16");
    machine.host_memory = 488e9;
    machine.network_bandwidth = 3.125e9;
  }
  Job job = job_of(false, true);
  job.prompts = 1024;
  job.completions = 1;
  job.minibatches = 4;
  SearchOptions options;
  options.separate_pools = state.range(1) != 0;
  options.deadline = 100;
  SearchResult result;
  for (auto _ : state) {
    result = search(cluster, job, {}, options);
    benchmark::DoNotOptimize(result);
  }
  state.counters["step_s"] = result.best.empty() ? 0 : result.best[0].time.total;
}
BENCHMARK(tight_search_time)
    ->ArgNames({"devices", "separate"})
    ->ArgsProduct({{80, 256}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.2);

/// One step's prediction, and the check of its memory, of the best plan.
void predict_time(benchmark::State& state) {
  const auto devices = static_cast<int32_t>(state.range(0));
  const cluster::Cluster cluster = machines(devices / 8, 8);
  const Job job = job_of(false, true);
  const SearchResult result = search(cluster, job, {}, {});
  if (result.best.empty()) return state.SkipWithError("nothing fits");
  for (auto _ : state) {
    benchmark::DoNotOptimize(predict(cluster, job, result.best[0].plan, {}));
    benchmark::DoNotOptimize(fits(cluster, job, result.best[0].plan));
  }
}
BENCHMARK(predict_time)->ArgName("devices")->Arg(8)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nereus::plan
