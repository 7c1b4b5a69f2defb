#include "nereus/simulator/policies.h"

#include <algorithm>
#include <cmath>

#include "nereus/plan/search.h"
#include "nereus/simulator/adaptive.h"
#include "nereus/simulator/elastic_data.h"
#include "nereus/simulator/fixed_plan.h"
#include "nereus/simulator/oracle.h"
#include "nereus/simulator/peer_plans.h"

namespace nereus::simulator {

namespace {

Result<plan::Plan> best_plan(const plan::Job& job, const cluster::Cluster& cluster) {
  plan::SearchOptions options;
  options.deadline = 60;  // not cut short by a busy machine
  auto found = plan::search(cluster, job, {}, options);
  if (found.best.empty()) return fail("no plan fits the {} devices", cluster.devices());
  return std::move(found.best.front().plan);
}

/// Those who tune by hand measure on the machines themselves: a step of the world at its mean speed, with the
/// lengths that the run begins with.
Judge measured(const Scenario& scenario, const cluster::Cluster& cluster) {
  return [&scenario, &cluster, curve = scenario.curve()](const plan::Plan& plan) {
    WorldOptions world = scenario.world;
    world.noise = 0;
    const Conditions conditions{std::vector<double>(static_cast<size_t>(cluster.devices()), 1.0), 1, 0, 0};
    const auto lengths =
        curve.sample(0, scenario.job.prompts, scenario.job.completions, world.prompt_variation, 0);
    const auto report = PlanRun(world, cluster, scenario.job, plan).step(lengths, conditions);
    return report.out_of_memory ? INFINITY : report.seconds;
  };
}

}  // namespace

const std::vector<PolicyInfo>& known_policies() {
  static const std::vector<PolicyInfo> kPolicies{
      {"fixed", "the best plan for the first machines; waits while they are not all there"},
      {"elastic-data", "that plan, its tensor and pipeline sizes fixed; the data axis follows the machines"},
      {"elastic-data-tuned", "the same, all else but those sizes chosen anew at every change"},
      {"separate-pools", "a pool for each model, tuned by exhaustive search, then fixed (OpenRLHF's way)"},
      {"shared-pool",
       "all models on all devices, one layout to train and one to generate, tuned, then fixed (verl's way)"},
      {"adaptive", "Nereus: its controller, search and transitions"},
      {"oracle", "knows the world's constants, the lengths and the trace to come"},
  };
  return kPolicies;
}

Status check_policy(const std::string& name) {
  const auto& known = known_policies();
  if (std::ranges::find(known, name, &PolicyInfo::name) != known.end()) return {};
  std::string names;
  for (const auto& policy : known_policies())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", policy.name);
  return fail("unknown policy \"{}\": expected one of {}", name, names);
}

Result<std::unique_ptr<Policy>> make_policy(const std::string& name, const Scenario& scenario, uint64_t seed,
                                            Proposals& proposals) {
  if (auto status = check_policy(name); !status) return pass(status);
  const auto& job = scenario.job;
  if (name == "fixed")
    return std::make_unique<FixedPlan>(name, [&job](const auto& cluster) { return best_plan(job, cluster); });
  if (name == "elastic-data" || name == "elastic-data-tuned")
    return std::make_unique<ElasticData>(job, name != "elastic-data");
  if (name == "separate-pools")
    return std::make_unique<FixedPlan>(name, [&](const auto& cluster) {
      return separate_pools_plan(cluster, job, measured(scenario, cluster));
    });
  if (name == "shared-pool")
    return std::make_unique<FixedPlan>(name, [&](const auto& cluster) {
      return shared_pool_plan(cluster, job, measured(scenario, cluster));
    });
  if (name == "adaptive") return std::make_unique<Adaptive>(job);
  return std::make_unique<Oracle>(scenario, seed, proposals);
}

}  // namespace nereus::simulator
