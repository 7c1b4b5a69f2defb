#include "nereus/plan/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nereus/plan/report_tables.h"
#include "nereus/plan/timeline.h"
#include "tests/plan/report_inputs.h"

namespace nereus::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PlanReport : public ::testing::Test {
 protected:
  Inputs inputs_ = report_inputs();
  Report report_ = report_of(inputs_);
};

TEST_F(PlanReport, GroupsHaveEveryUsedDeviceOnce) {
  ASSERT_FALSE(report_.plans.empty());
  for (const auto& facts : report_.plans) {
    std::set<int32_t> used, listed;
    for (const auto& placement : facts.candidate.plan.placements)
      used.insert(placement.devices.begin(), placement.devices.end());
    size_t count = 0;
    for (const auto& group : facts.groups) {
      listed.insert(group.devices.begin(), group.devices.end());
      count += group.devices.size();
      EXPECT_LE(group.peak.ledger.total(), group.peak.limit);
    }
    EXPECT_EQ(listed, used);
    EXPECT_EQ(count, used.size());
    EXPECT_GE(facts.longest_response, report_.job.lengths.max_response);
  }
}

// The parts of the step, as they are drawn, end when the prediction says.
TEST_F(PlanReport, TheTimelineEndsWithTheStep) {
  for (const auto& facts : report_.plans) {
    double end = 0;
    for (const auto& span : timeline(report_.job, facts.candidate.plan, facts.candidate.time))
      end = std::max(end, span.end);
    EXPECT_NEAR(end, facts.candidate.time.total, 0.02 * end);
  }
}

TEST_F(PlanReport, TextSaysWhatToRunWithUnits) {
  const std::string text = report_text(report_, false);
  for (const char* part : {"actor of 8.03 B parameters", "16 devices: 2 machines of 8 A100-80",
                           "Plan 1: ", " s a step: ", "actor generate", "critic train",
                           "Memory at the fullest moment, in GB of 10^9 bytes", "weights", "bound",
                           "Longest response that fits: ", "Plan 3: ", " times the best)"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("Set aside")));
}

// Which sizes of the axes and which micro-batch? Searched, with an explanation [verl 901, Megatron-LM 1849].
TEST_F(PlanReport, Fault51_ExplainNamesBoundsAndRejections) {
  const std::string text = report_text(report_, true);
  EXPECT_THAT(text, HasSubstr("What bounds the stages"));
  EXPECT_THAT(text, HasSubstr("Set aside"));
  EXPECT_THAT(text, HasSubstr("GB short"));
}

// The longest response is reported for each plan [verl 516].
TEST_F(PlanReport, Fault50_TheContextLimitsTheLongestResponse) {
  const auto& facts = report_.plans[0];
  EXPECT_LE(facts.longest_in_context, 8192 - 512);
  if (facts.longest_in_context < facts.longest_response) {
    EXPECT_THAT(describe_longest(report_.job, facts), HasSubstr("contexts have room for 7,680"));
  }
}

TEST_F(PlanReport, JsonHasTheLedgerOfEveryDevice) {
  const Json json = Json::parse(report_json(report_).dump());
  EXPECT_EQ(json["units"]["memory"], "bytes");
  ASSERT_EQ(json["plans"].size(), report_.plans.size());
  const Json& plan = json["plans"][0];
  EXPECT_EQ(plan["placements"].size(), model_stages(report_.job).size());
  EXPECT_EQ(plan["seconds"]["stages"].size(), model_stages(report_.job).size());
  size_t devices = 0;
  for (const Json& group : plan["memory"]) {
    devices += group["devices"].size();
    double sum = 0;
    for (const auto& [name, bytes] : group["ledger"].items())
      if (name != "total") sum += bytes.get<double>();
    EXPECT_DOUBLE_EQ(sum, group["ledger"]["total"].get<double>());
  }
  EXPECT_EQ(devices, 16U);
}

TEST_F(PlanReport, ThePageIsSelfContained) {
  const std::string page = report_html(report_, std::nullopt);
  EXPECT_THAT(page, HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("<svg viewBox"));
  EXPECT_THAT(page, HasSubstr("critic train"));
  for (const char* outside : {"http", "<script", "src=", "href=", "url(", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_LT(page.size(), 400000U);
}

TEST(PlanReportText, NothingFits) {
  const auto inputs = report_inputs({{"machine.0.count", "1"},
                                     {"machine.0.devices", "1"},
                                     {"machine.0.memory_gb", "10"},
                                     {"machine.0.host_memory_gb", "20"}});
  const auto report = report_of(inputs);
  EXPECT_TRUE(report.plans.empty());
  EXPECT_THAT(report_text(report, false), HasSubstr("No plan fits."));
  EXPECT_THAT(report_text(report, false), HasSubstr("Set aside"));  // why, without being asked
  EXPECT_THAT(report_html(report, std::nullopt), HasSubstr("No plan fits"));
  EXPECT_EQ(report_json(report)["plans"].size(), 0U);
}

TEST(SetAsideTest, WhatDoesNotFitComesFirstAndMuchIsCounted) {
  std::vector<Rejection> rejected;
  for (int i = 0; i < 6; ++i)
    rejected.push_back({fmt::format("actor train dp {} pp 1 tp 1", i), "slow", true});
  for (int i = 0; i < 2; ++i)
    rejected.push_back({fmt::format("actor train dp {} pp 2 tp 1", i), "1 GB short", false});
  rejected.push_back({"actor infer dp 1 pp 1 tp 1", "slow", true});
  const auto parts = set_aside(rejected);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].what, "actor train");
  ASSERT_EQ(parts[0].shown.size(), 6U);
  EXPECT_EQ(parts[0].shown[0].reason, "1 GB short");
  EXPECT_EQ(parts[0].shown[2].what, "actor train dp 0 pp 1 tp 1");
  EXPECT_EQ(parts[0].left_out, 2U);
  EXPECT_EQ(parts[1].what, "actor infer");
}

TEST(DescribeCluster, JoinsMachinesAlike) {
  EXPECT_EQ(describe_cluster(report_inputs().cluster), "16 devices: 2 machines of 8 A100-80");
  EXPECT_EQ(describe_cluster(cluster::with_devices(report_inputs().cluster, 12)),
            "12 devices: 1 machine of 8 A100-80, 1 machine of 4 A100-80");
}

}  // namespace
}  // namespace nereus::plan
