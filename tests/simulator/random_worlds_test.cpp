#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/plan/known_models.h"
#include "nereus/plan/search.h"
#include "nereus/simulator/step.h"
#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

/// Of memory that plans may fill here: what a world with 5 % of fragments and 0.6 GB of buffers leaves on the
/// smallest of devices. At 0.92 a third of a percent of the plans run out, all of them on 16 GB, by 0.3 GB at
/// most.
constexpr double kUtilization = 0.90;

/// A random cluster and job: kinds, sizes, models, roles, lengths, adapters.
Scenario random_scenario(RandomStream& random) {
  static const std::vector<std::string> kKinds{"A100-40", "A100-80", "H100", "H200", "V100-16", "L40S"};
  static const std::vector<std::string> kModels{"smollm2-135m", "qwen2.5-0.5b", "qwen2.5-1.5b", "llama-3-8b",
                                                "qwen2.5-7b"};
  const auto pick = [&](const auto& list) { return list[random.below(list.size())]; };
  Scenario scenario = test::small_scenario(1, 1);
  const auto* kind = cluster::known_device(pick(kKinds));
  const auto machines = static_cast<int32_t>(1 + random.below(4));
  const int32_t devices = pick(std::vector<int32_t>{1, 2, 4, 8});
  scenario.cluster = test::small_cluster(machines, devices);
  for (auto& machine : scenario.cluster.machines) machine.kind = *kind;
  plan::Job job;
  job.utilization = kUtilization;
  const auto model = *plan::known_model(pick(kModels));
  const int32_t rank = random.below(3) == 0 ? 32 : 0;
  job.models.push_back({plan::Role::actor, model, rank});
  if (random.below(2) == 0) job.models.push_back({plan::Role::critic, model, rank});
  if (random.below(2) == 0) job.models.push_back({plan::Role::reference, model, 0});
  if (random.below(3) == 0) job.models.push_back({plan::Role::reward, model, 0});
  job.prompts = pick(std::vector<int64_t>{16, 64, 200, 512});
  job.completions = pick(std::vector<int64_t>{1, 4, 8});
  job.minibatches = pick(std::vector<int32_t>{1, 2, 4});
  const int64_t longest = pick(std::vector<int64_t>{512, 2048, 8192});
  const double mean = (0.1 + 0.5 * random.uniform()) * static_cast<double>(longest);
  job.lengths = plan::lognormal_lengths(pick(std::vector<int64_t>{64, 512, 2000}), mean,
                                        0.3 + random.uniform(), longest);
  scenario.job = job;
  scenario.lengths = {{mean, 0, static_cast<double>(job.lengths.prompt)}};
  scenario.availability = {{0, machines}};
  return scenario;
}

/// A plan that the search returns never runs out of memory in the world, whose memory has other constants.
TEST(RandomWorlds, NoPlanRunsOutOfMemory) {
  RandomStream random(2026, 1);
  int planned = 0, ran_out = 0;
  std::string first;
  for (int i = 0; i < 1000; ++i) {
    const Scenario scenario = random_scenario(random);
    plan::SearchOptions options;
    options.top = 3;
    const auto found = plan::search(scenario.cluster, scenario.job, {}, options);
    for (const auto& candidate : found.best) {
      ++planned;
      const PlanRun run(scenario.world, scenario.cluster, scenario.job, candidate.plan);
      const auto lengths = scenario.curve().sample(0, scenario.job.prompts, scenario.job.completions, 0.3,
                                                   static_cast<uint64_t>(i));
      const Conditions conditions{std::vector<double>(static_cast<size_t>(scenario.cluster.devices()), 1.0),
                                  1, static_cast<uint64_t>(i), 0};
      const auto report = run.step(lengths, conditions);
      if (!report.out_of_memory) continue;
      ++ran_out;
      if (first.empty())
        first = report.out_of_memory->what() + "\n" +
                to_string(*candidate.plan.find(report.out_of_memory->stage));
    }
  }
  EXPECT_EQ(ran_out, 0) << "first: " << first;
  EXPECT_GT(planned, 1000);
}

}  // namespace
}  // namespace nereus::simulator
