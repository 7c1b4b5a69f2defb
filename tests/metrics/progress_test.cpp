#include "nereus/metrics/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/metrics/manual_clock.h"

namespace nereus::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

Record record(double reward) {
  Record numbers;
  numbers.set("reward", reward);
  numbers.set("frac_reward_zero_std", 0.25);
  numbers.set("completions/mean_length", 7.26);
  numbers.set("completions/min_length", 4);
  numbers.set("completions/max_length", 24);
  numbers.set("completions/clipped_ratio", 0.125);
  numbers.set("perf/step_s", 2.31);
  numbers.set("perf/generate_s", 1.2);
  numbers.set("perf/train_s", 0.81);
  return numbers;
}

struct Screen {
  explicit Screen(TerminalOptions options) : progress(out, clock, options) {}
  /// What was written since the last call.
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }
  ManualClock clock;
  std::ostringstream out;
  Progress progress;
};

constexpr TerminalOptions kLiveProgress{
    .live = true, .color = false, .unicode = true, .width = 120, .file = -1};

TEST(Progress, OnePlainLineAStepElsewhere) {
  Screen screen({});
  screen.progress.begin(10);
  screen.progress.activity("generate", 3, 64);
  EXPECT_EQ(screen.take(), "");
  screen.clock.time += 4;
  screen.progress.step(1, record(0.531));
  EXPECT_EQ(
      screen.take(),
      "step 1/10  reward 0.531  length 7.26  cut off 0.125  2.31 s (generate 1.20, train 0.81)  left 36 s\n");
  screen.progress.note("checkpoint saved");
  EXPECT_EQ(screen.take(), "checkpoint saved\n");
  screen.progress.step(10, record(1));
  EXPECT_THAT(screen.take(), Not(HasSubstr("left")));
  screen.progress.end();
  EXPECT_EQ(screen.take(), "");
}

TEST(Progress, BlockOnATerminal) {
  Screen screen(kLiveProgress);
  screen.progress.begin(4);
  EXPECT_EQ(screen.take(), "step 0/4 ░░░░░░░░░░░░░░░░░░░░░░░░ 0 %  0.0 s passed, ? left\n");
  screen.clock.time += 3;
  screen.progress.step(1, record(0.1));
  screen.clock.time += 3;
  screen.progress.step(2, record(0.9));
  const std::string text = screen.take();
  EXPECT_THAT(text, HasSubstr("step 2/4 ████████████░░░░░░░░░░░░ 50 %  6.0 s passed, 6.0 s left\n"
                              "reward 0.900  ▁█  groups without spread 0.250\n"
                              "length 7.26 (4.00 to 24.0)  cut off 0.125\n"
                              "time   2.31 s  generate 1.20, train 0.81\n"));
}

TEST(Progress, TimeLeftOfAResumedRunCountsItsOwnStepsOnly) {
  Screen screen({});
  screen.progress.begin(100, 90);
  screen.clock.time += 10;
  screen.progress.step(95, record(0.5));
  EXPECT_THAT(screen.take(), HasSubstr("left 10 s"));
}

TEST(Progress, ActivityIsDrawnAtMostTenTimesASecond) {
  Screen screen(kLiveProgress);
  screen.progress.begin(4);
  screen.progress.activity("generate", 0, 64);
  EXPECT_THAT(screen.take(), HasSubstr("generate 0/64\n")) << "a new activity is shown at once";
  for (int i = 1; i <= 50; ++i) {
    screen.clock.time += 0.01;
    screen.progress.activity("generate", i, 64);
  }
  const std::string text = screen.take();
  EXPECT_LE(std::ranges::count(text, 'J'), 5);
  EXPECT_GE(std::ranges::count(text, 'J'), 4);
}

TEST(Progress, NotesStayAboveTheBlockAndTheLastBlockStays) {
  Screen screen(kLiveProgress);
  screen.progress.begin(4);
  screen.take();
  screen.progress.note("warning: x");
  EXPECT_THAT(screen.take(), testing::StartsWith("\x1b[1A\r\x1b[Jwarning: x\nstep 0/4"));
  screen.progress.end();
  screen.take();
  screen.progress.note("done");
  EXPECT_THAT(screen.take(), testing::StartsWith("done\n")) << "nothing is erased any more";
}

TEST(Progress, RespectsTheWidthAndNoColor) {
  TerminalOptions narrow = kLiveProgress;
  narrow.width = 30;
  narrow.color = true;
  Screen screen(narrow);
  screen.progress.begin(1000);
  screen.progress.step(1, record(0.5));
  std::istringstream lines(screen.take());
  for (std::string line; std::getline(lines, line);) {
    if (const size_t erased = line.find("\x1b[J"); erased != std::string::npos) line.erase(0, erased + 3);
    EXPECT_LT(columns(line), 30U) << line;
  }
  Screen plain(kLiveProgress);
  plain.progress.begin(10);
  plain.progress.step(1, record(0.5));
  EXPECT_THAT(plain.take(), Not(testing::ContainsRegex("\x1b\\[[0-9]*m"))) << "no colour codes";
}

}  // namespace
}  // namespace nereus::metrics
