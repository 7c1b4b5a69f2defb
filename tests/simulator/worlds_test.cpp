#include <gtest/gtest.h>

#include <filesystem>

#include "nereus/base/json.h"
#include "nereus/config/text_file.h"
#include "nereus/simulator/run.h"

namespace nereus::simulator {
namespace {

const std::filesystem::path kRoot = NEREUS_SOURCE_DIR;

SimulationReport repeated(const Json& world) {
  RunOptions options;
  options.file = kRoot / "examples" / (world.at("scenario").get<std::string>() + ".toml");
  for (const auto& [key, value] : world.at("overrides").items())
    options.overrides.emplace_back(key, value.get<std::string>());
  for (const auto& [policy, runs] : world.at("policies").items()) {
    options.policies.push_back(policy);
    options.seeds = static_cast<int64_t>(runs.size());
  }
  return value_or_throw(run(options));
}

void expect_same(const Outcome& outcome, const Json& run) {
  const auto close = [&](double value, const char* key) {
    const double golden = run.at(key).get<double>();
    EXPECT_NEAR(value, golden, 1e-9 * std::max(1.0, std::abs(golden))) << key;
  };
  const auto same = [&](int64_t value, const char* key) {
    EXPECT_EQ(value, run.at(key).get<int64_t>()) << key;
  };
  close(outcome.elapsed, "elapsed");
  close(outcome.waiting, "waiting");
  close(outcome.wasted, "wasted");
  same(static_cast<int64_t>(outcome.seed), "seed");
  same(outcome.steps, "steps");
  same(outcome.lost_steps, "lost_steps");
  same(outcome.out_of_memory, "out_of_memory");
  same(outcome.preempted, "preempted_sequences");
  same(static_cast<int64_t>(outcome.changes.size()), "changes");
}

// Whatever makes simulations faster must leave what comes of them as it is: tests/golden/simulator/make.py
// says how the values were made.
TEST(Worlds, ComeOutAsBefore) {
  const auto text = value_or_throw(config::read_text_file(kRoot / "tests/golden/simulator/worlds.json"));
  for (const Json& world : Json::parse(text)) {
    const auto report = repeated(world);
    for (size_t p = 0; p < report.outcomes.size(); ++p) {
      const auto& policy = report.scenario.policies[p];
      for (size_t i = 0; i < report.outcomes[p].size(); ++i) {
        SCOPED_TRACE(report.scenario.name + ", " + policy);
        expect_same(report.outcomes[p][i], world.at("policies").at(policy).at(i));
      }
    }
  }
}

}  // namespace
}  // namespace nereus::simulator
