#include "nereus/plan/timeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nereus::plan {
namespace {

constexpr ModelStage kGenerate{Role::actor, Stage::generate}, kOld{Role::actor, Stage::infer},
    kReference{Role::reference, Stage::infer}, kTrain{Role::actor, Stage::train};

StageTime lasting(ModelStage what, double seconds) {
  StageTime time;
  time.what = what;
  time.compute = seconds;
  return time;
}

Placement on(ModelStage what, std::vector<int32_t> devices) {
  Placement placement;
  placement.what = what;
  placement.devices = std::move(devices);
  placement.layout.dp = static_cast<int32_t>(placement.devices.size());
  return placement;
}

std::string words(const std::vector<Span>& spans) {
  std::string out;
  for (const auto& span : spans) out += fmt::format("{} {:g}-{:g}; ", span.what, span.begin, span.end);
  return out;
}

StepTime step() {
  StepTime time;
  time.stages = {lasting(kGenerate, 10), lasting(kOld, 2), lasting(kReference, 3), lasting(kTrain, 4)};
  time.reward = 6;
  time.weight_sync = 1;
  return time;
}

TEST(Timeline, StagesOnSharedDevicesFollowOneAnother) {
  const Plan plan{{on(kGenerate, {0, 1}), on(kOld, {1, 0}), on(kReference, {0, 1}), on(kTrain, {0, 1})}};
  EXPECT_EQ(
      words(timeline(Job{}, plan, step())),
      "actor generate 0-10; rewards 10-16; actor infer 10-12; reference infer 12-15; actor train 16-20; "
      "weight sync 20-21; ");
}

TEST(Timeline, StagesOnDevicesOfTheirOwnRunAtTheSameTime) {
  const Plan plan{{on(kGenerate, {0}), on(kOld, {1}), on(kReference, {2}), on(kTrain, {3})}};
  auto time = step();
  time.reward = 0;
  EXPECT_EQ(words(timeline(Job{}, plan, time)),
            "actor generate 0-10; actor infer 10-12; reference infer 10-13; actor train 13-17; weight sync "
            "17-18; ");
}

TEST(Timeline, AsynchronousTrainingDoesNotWaitForGeneration) {
  const Plan plan{{on(kGenerate, {0}), on(kOld, {1}), on(kReference, {1}), on(kTrain, {1})}};
  Job job;
  job.asynchronous = true;
  auto time = step();
  time.reward = 0;
  EXPECT_EQ(words(timeline(job, plan, time)),
            "actor generate 0-10; actor infer 0-2; reference infer 2-5; actor train 5-9; weight sync 9-10; ");
}

}  // namespace
}  // namespace nereus::plan
