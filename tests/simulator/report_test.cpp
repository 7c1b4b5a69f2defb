#include "nereus/simulator/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulator/small_world.h"

namespace nereus::simulator {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome outcome(const std::string& policy, uint64_t seed, double elapsed) {
  Outcome o;
  o.policy = policy;
  o.seed = seed;
  o.steps = 10;
  o.samples = 640;
  o.elapsed = elapsed;
  o.waiting = 0.1 * elapsed;
  for (int64_t i = 0; i < 10; ++i) o.points.push_back({5.0 * static_cast<double>(i), i, 5, 3, 1, 1, 16, 0.5});
  o.changes.push_back({10, 2, 3, 0.5, 2e9, 1e9, 8, true, "actor train: dp 1", "a <device> is gone"});
  return o;
}

SimulationReport report() {
  SimulationReport r{test::small_scenario(), {}, {{{0, 16}, {10, 8}}, {{0, 16}}}};
  r.outcomes = {{outcome("elastic-data", 1, 100), outcome("elastic-data", 2, 140)},
                {outcome("adaptive", 1, 80), outcome("adaptive", 2, 100)}};
  return r;
}

TEST(Report, SummaryOverSeeds) {
  const auto summary = summary_of(report().outcomes[0]);
  EXPECT_DOUBLE_EQ(summary.step_latency, 12);
  EXPECT_DOUBLE_EQ(summary.least, 10);
  EXPECT_DOUBLE_EQ(summary.most, 14);
  EXPECT_DOUBLE_EQ(summary.step_seconds, 5);
  EXPECT_DOUBLE_EQ(summary.waiting, 0.1);
  EXPECT_DOUBLE_EQ(summary.changes, 1);
  EXPECT_DOUBLE_EQ(summary.change_seconds, 3.5);
  EXPECT_DOUBLE_EQ(summary.changing, 7.0 / 240);
}

TEST(Report, TextHasALineAPolicyAndTheRatio) {
  const auto text = report_text(report());
  EXPECT_THAT(text, HasSubstr("elastic-data"));
  EXPECT_THAT(text, HasSubstr("-25.0 %"));  // 9 seconds instead of 12
}

TEST(Report, NoStepsAreNotANumber) {
  auto r = report();
  r.outcomes[0][0].steps = 0;
  r.outcomes[0][0].points.clear();
  r.outcomes[0][0].note = "nothing fits";
  EXPECT_THAT(report_text(r), HasSubstr("elastic-data: nothing fits"));
  EXPECT_TRUE(report_json(r)["policies"][0]["step_latency_seconds"].is_null());
  EXPECT_THAT(report_html(r), Not(HasSubstr("inf")));
}

TEST(Report, JsonHasEveryRun) {
  const auto json = report_json(report());
  ASSERT_EQ(json["policies"].size(), 2U);
  ASSERT_EQ(json["policies"][1]["runs"].size(), 2U);
  EXPECT_EQ(json["policies"][1]["runs"][0]["changes"][0]["moved_bytes"], 2e9);
  EXPECT_EQ(json["policies"][1]["step_latency_seconds"], 9);
}

TEST(Report, PageIsSelfContained) {
  const auto page = report_html(report());
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("a &lt;device&gt; is gone"));
  for (const std::string outside : {"http:", "https:", "<script", "src=", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace nereus::simulator
