#include "nereus/simulator/run.h"

#include <algorithm>

#include "nereus/formats/atomic_file.h"
#include "nereus/simulator/engine.h"
#include "nereus/simulator/policies.h"
#include "nereus/simulator/scenario_file.h"

namespace nereus::simulator {

Result<SimulationReport> run(const RunOptions& options) {
  auto scenario = read_scenario(options.file, options.overrides);
  if (!scenario) return pass(scenario);
  if (options.seeds) scenario->seeds = *options.seeds;
  if (scenario->seeds < 1) return fail("seeds: expected at least 1, found {}", scenario->seeds);
  if (!options.policies.empty()) scenario->policies = options.policies;
  if (scenario->policies.empty())
    for (const auto& policy : known_policies()) scenario->policies.emplace_back(policy.name);

  SimulationReport report{std::move(*scenario), {}, {}};
  const auto policies = static_cast<int64_t>(report.scenario.policies.size());
  const LengthCurve curve = report.scenario.curve();
  Samples samples(report.scenario, curve);
  Proposals proposals(report.scenario, samples);
  double elapsed = 0;
  for (int64_t p = 0; p < policies; ++p) {
    auto& outcomes = report.outcomes.emplace_back();
    for (int64_t i = 0; i < report.scenario.seeds; ++i) {
      const auto& name = report.scenario.policies[static_cast<size_t>(p)];
      const auto seed = static_cast<uint64_t>(i + 1);
      if (options.progress)
        options.progress(name, seed, p * report.scenario.seeds + i, policies * report.scenario.seeds);
      auto policy = make_policy(name, report.scenario, seed, proposals);
      if (!policy) return pass(policy);
      outcomes.push_back(simulate(report.scenario, samples, **policy, seed));
      elapsed = std::max(elapsed, outcomes.back().elapsed);
    }
  }
  for (int64_t i = 0; i < report.scenario.seeds; ++i)
    report.devices.push_back(devices_over_time(report.scenario, static_cast<uint64_t>(i + 1), elapsed));
  if (!options.html.empty())
    if (auto status = formats::write_file_atomically(options.html, report_html(report)); !status)
      return pass(status);
  return report;
}

}  // namespace nereus::simulator
