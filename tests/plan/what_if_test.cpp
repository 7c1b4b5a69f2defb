#include "nereus/plan/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/report_inputs.h"

namespace nereus::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ParseWhatIf, ShortNamesAndKeysOfBothFiles) {
  const auto what_if = parse_what_if(
      {"devices=64", "mean_length=4096", "completions=16", "lengths.prompt=100", "machine.0.memory_gb=40"});
  ASSERT_TRUE(what_if) << what_if.error().message;
  EXPECT_EQ(what_if->devices, 64);
  EXPECT_THAT(what_if->job, ElementsAre(Pair("lengths.mean_response", "4096"), Pair("job.completions", "16"),
                                        Pair("lengths.prompt", "100")));
  EXPECT_THAT(what_if->cluster, ElementsAre(Pair("machine.0.memory_gb", "40")));
  EXPECT_EQ(what_if->words,
            "devices=64 mean_length=4096 completions=16 lengths.prompt=100 machine.0.memory_gb=40");
}

TEST(ParseWhatIf, Bad) {
  struct Case {
    const char* setting;
    const char* message;
  };
  const Case cases[] = {
      {"devices", "--what-if devices: expected NAME=VALUE"},
      {"devices=0", "--what-if devices: expected an integer from 1 to 1048576, found \"0\""},
      {"devices=many", "found \"many\""},
      {"gpus=8", "--what-if gpus: expected devices, mean_length"}};
  for (const auto& c : cases) EXPECT_THAT(parse_what_if({c.setting}).error().message, HasSubstr(c.message));
}

TEST(ReadInputs, BothFilesWithOtherValues) {
  const std::string examples = NEREUS_SOURCE_DIR "/examples/";
  const auto what_if = value_or_throw(parse_what_if({"devices=24", "mean_length=2048"}));
  const auto inputs = read_inputs(examples + "clusters/h100-64.toml", examples + "plan-ppo-8b.toml", what_if);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(inputs->cluster.devices(), 24);
  EXPECT_NEAR(inputs->job.lengths.mean_response(), 2048, 100);
  const auto bad = value_or_throw(parse_what_if({"lengths.maen=3"}));
  const auto refused = read_inputs(examples + "clusters/h100-64.toml", examples + "plan-ppo-8b.toml", bad);
  EXPECT_THAT(refused.error().message, HasSubstr("unknown key lengths.maen"));
}

TEST(Answer, MoreDevicesAreFasterAndThePresentPlanStillRuns) {
  const auto now = report_of(report_inputs());
  ASSERT_FALSE(now.plans.empty());
  const WhatIf what_if{"devices=32", 32, {}, {}};
  auto inputs = report_inputs();
  inputs.cluster = cluster::with_devices(inputs.cluster, 32);
  const auto then = answer(what_if, inputs, now, Calibration{}, few_options(), SteadyClock());
  ASSERT_FALSE(then.report.plans.empty());
  ASSERT_TRUE(then.stay) << then.why_not_stay;
  EXPECT_NEAR(*then.stay, now.plans[0].candidate.time.total, 1e-6 * *then.stay);
  EXPECT_LT(then.report.plans[0].candidate.time.total, now.plans[0].candidate.time.total);
  const std::string text = what_if_text(now, then, false);
  EXPECT_THAT(text, HasSubstr("What if devices=32"));
  EXPECT_THAT(text, HasSubstr("with the present plan"));
  EXPECT_THAT(report_html(now, then), HasSubstr("What if devices=32"));
  EXPECT_EQ(what_if_json(now, then)["what_if"]["settings"], "devices=32");
}

TEST(Answer, ThePresentPlanNeedsItsDevices) {
  const auto now = report_of(report_inputs());
  auto inputs = report_inputs();
  inputs.cluster = cluster::with_devices(inputs.cluster, 8);
  const auto then =
      answer({"devices=8", 8, {}, {}}, inputs, now, Calibration{}, few_options(), SteadyClock());
  EXPECT_FALSE(then.stay);
  EXPECT_THAT(then.why_not_stay, HasSubstr("which is not there"));
  EXPECT_THAT(what_if_text(now, then, false), HasSubstr("the present plan does not apply: it runs "));
}

// Out of memory after some steps, as responses grow [verl 1232]: what then, asked before the run.
TEST(Answer, Fault49_GrownResponsesAreJudgedBeforehand) {
  const config::Overrides longer = {{"lengths.max_response", "7600"}, {"lengths.mean_response", "4000"}};
  const auto now = report_of(report_inputs());
  const auto inputs = report_inputs({}, longer);
  const auto then =
      answer({"mean_length=4000", {}, {}, longer}, inputs, now, Calibration{}, few_options(), SteadyClock());
  ASSERT_FALSE(then.report.plans.empty());
  // Either the plan still fits, then it is slower than before; or the reason is said.
  if (then.stay) {
    EXPECT_GT(*then.stay, now.plans[0].candidate.time.total);
    EXPECT_GE(*then.stay, then.report.plans[0].candidate.time.total * 0.999);
  } else {
    EXPECT_THAT(then.why_not_stay, HasSubstr("short"));
  }
}

}  // namespace
}  // namespace nereus::plan
