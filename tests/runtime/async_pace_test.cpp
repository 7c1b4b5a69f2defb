// Sampling beside training, with servers and a trainer that take the times of a published run: 18 s of
// generation in a synchronous step of 22.9 s, 4.8 s of the trainer's own; twenty times faster here.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <numbers>
#include <numeric>

#include "tests/runtime/async_rig.h"
#include "tests/runtime/paced_servers.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

constexpr double kScale = 1.0 / 20, kGenerateSeconds = 18 * kScale, kTrainSeconds = 4.8 * kScale;
constexpr int64_t kPrompts = 16, kCompletions = 4, kBatch = kPrompts * kCompletions;

/// Each 16 prompts that follow one another hold all of 64 lengths once, in another order each time: the
/// quantiles of a lognormal distribution (the deviation of the logarithm is 0.8), of which the longest takes
/// 18 s and the mean 3.6.
double uneven_seconds(uint64_t prompt, uint32_t completion) {
  static const std::vector<double> lengths = [] {
    std::vector<double> all;
    for (int64_t i = 0; i < kBatch; ++i) {
      // The normal distribution's quantile, by bisection of its tail.
      const double tail = 1 - (static_cast<double>(i) + 0.5) / kBatch;
      double low = -6, high = 6;
      for (int round = 0; round < 60; ++round) {
        const double middle = (low + high) / 2;
        (std::erfc(middle / std::numbers::sqrt2) / 2 > tail ? low : high) = middle;
      }
      all.push_back(std::exp(0.8 * low));
    }
    for (double& seconds : all) seconds *= kGenerateSeconds / all.back();
    return all;
  }();
  const uint64_t place = prompt % kPrompts * kCompletions + completion;
  return lengths[(place * 29 + prompt / kPrompts * 7) % lengths.size()];
}

struct Setting {
  const char* name = "";
  int64_t max_staleness = 0;
  int64_t at_once = 8 * kBatch;  ///< completions that the servers are given at once
  Pace pace = {kBatch, uneven_seconds};
  double train_seconds = kTrainSeconds;
  int64_t warm = 3, counted = 12;  ///< steps
};

/// What a run measured, in seconds of the published run.
struct Measured {
  double step = 0;
  double prompts_a_second = 0;  ///< answered by the servers
  double staleness = 0, dropped = 0;
  std::vector<double> since_arrival, since_begun;  ///< until they are trained, one a prompt, sorted

  static double mean(const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  }
  static double p95(const std::vector<double>& of) { return of[of.size() * 95 / 100]; }
};

Measured run(const std::filesystem::path& folder, const Setting& setting) {
  Journal journal;
  Rig rig(folder, std::make_unique<SamplerOf<PacedServers>>(setting.pace, journal),
          {{"async.max_staleness", std::to_string(setting.max_staleness)},
           {"data.prompts", std::to_string(kPrompts)},
           {"generation.completions", std::to_string(kCompletions)},
           {"generation.max_running", std::to_string(setting.at_once)}});
  Measured measured;
  double begin = 0;
  for (int64_t step = 0; step < setting.warm + setting.counted; ++step) {
    if (step == setting.warm) begin = rig.clock.now();
    metrics::Record record;
    const auto batch = value_or_throw(rig.rollouts.next(record, never)).value();
    EXPECT_EQ(std::ssize(batch.groups), kPrompts);
    measured.staleness = std::max(measured.staleness, *record.get("sample/staleness_max"));
    measured.dropped = *record.get("sample/dropped_stale_total");
    sleep_for(setting.train_seconds);
    const double now = rig.clock.now();
    value_or_throw(rig.rollouts.trained(step + 1));
    if (step < setting.warm) continue;
    for (const auto& group : batch.groups) {
      const auto times = journal.of(group.prompt_id);
      measured.since_arrival.push_back((now - times.arrived) / kScale);
      measured.since_begun.push_back((now - times.begun) / kScale);
    }
  }
  EXPECT_LE(measured.staleness, static_cast<double>(setting.max_staleness));
  const double end = rig.clock.now(), seconds = (end - begin) / kScale;
  measured.step = seconds / static_cast<double>(setting.counted);
  measured.prompts_a_second = journal.answered(begin, end) / seconds;
  for (auto* times : {&measured.since_arrival, &measured.since_begun}) std::ranges::sort(*times);
  return measured;
}

class AsyncPace : public testing::Test {
 protected:
  AsyncPace() { write_tiny_model(scratch_.path() / "tiny"); }

  /// Runs the settings and checks what they measured. These are times of this machine, which others may
  /// keep busy for a moment: what does not hold is measured again, twice at most.
  template <class Check>
  void measure(const std::vector<Setting>& settings, Check check) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::vector<Measured> runs = run_all(settings);
      testing::TestPartResultArray failures;
      {
        const testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
        check(runs);
      }
      if (failures.size() == 0) return;
      for (int i = 0; i < failures.size(); ++i)
        fmt::print("measured again, since: {}\n", failures.GetTestPartResult(i).message());
    }
    check(run_all(settings));
  }

  /// All at once: they only wait.
  std::vector<Measured> run_all(const std::vector<Setting>& settings) {
    std::vector<std::future<Measured>> runs;
    for (const auto& setting : settings)
      runs.push_back(std::async(std::launch::async, [&] { return run(scratch_.path(), setting); }));
    std::vector<Measured> all;
    for (size_t i = 0; i < runs.size(); ++i) {
      const Measured& m = all.emplace_back(runs[i].get());
      fmt::print(
          "{}: step {:.2f} s, {:.3f} prompts/s; prompt to trained {:.1f} s (p95 {:.1f}), since its arrival "
          "{:.1f} s (p95 {:.1f}); staleness at most {}, {} completions dropped\n",
          settings[i].name, m.step, m.prompts_a_second, Measured::mean(m.since_begun),
          Measured::p95(m.since_begun), Measured::mean(m.since_arrival), Measured::p95(m.since_arrival),
          m.staleness, m.dropped);
    }
    return all;
  }

  ScratchFolder scratch_;
};

TEST_F(AsyncPace, GenerationNeverWaitsForTraining) {
  // All completions take as long as the published run's longest, and the servers have room for all of them.
  const Pace even{64 * kBatch, [](uint64_t, uint32_t) { return kGenerateSeconds; }};
  measure({{.name = "in turn", .pace = even, .warm = 1, .counted = 4},
           {.name = "beside", .max_staleness = 4, .pace = even, .warm = 6}},
          [](const std::vector<Measured>& runs) {
            const auto& in_turn = runs[0];
            const auto& beside = runs[1];
            EXPECT_GE(in_turn.step, 18 + 4.8);
            EXPECT_LE(beside.step, 1.1 * 4.8) << "the trainer's own time";
            EXPECT_GE(in_turn.step / beside.step, 4.5);
          });
}

TEST_F(AsyncPace, OfUnevenAnswersMoreAreTrainedAndSooner) {
  measure({{.name = "in turn", .warm = 1, .counted = 4},
           {.name = "as many with the servers", .max_staleness = 4, .at_once = kBatch, .warm = 6},
           {.name = "servers always busy", .max_staleness = 4, .at_once = 2 * kBatch, .warm = 12}},
          [](const std::vector<Measured>& runs) {
            const auto& in_turn = runs[0];
            // At one load of the servers: never more completions with them than in a synchronous step.
            const auto& gentle = runs[1];
            EXPECT_LE(Measured::mean(gentle.since_begun), 0.85 * Measured::mean(in_turn.since_begun));
            EXPECT_GE(gentle.prompts_a_second / in_turn.prompts_a_second, 2.5);
            EXPECT_EQ(gentle.dropped, 0);
            // As many prompts as training takes.
            const auto& full = runs[2];
            EXPECT_LE(full.step, 1.1 * 4.8);
            EXPECT_GE(full.prompts_a_second / in_turn.prompts_a_second, 4.4);
          });
}

TEST_F(AsyncPace, WhereTrainingIsNoBoundServersAnswerFiveTimesAsManyPrompts) {
  constexpr double kTrain = 2.4 * kScale;
  measure({{.name = "in turn", .train_seconds = kTrain, .warm = 1, .counted = 4},
           {.name = "servers always busy",
            .max_staleness = 8,
            .at_once = 3 * kBatch,
            .train_seconds = kTrain,
            .warm = 6,
            .counted = 20}},
          [](const std::vector<Measured>& runs) {
            EXPECT_GE(runs[1].prompts_a_second / runs[0].prompts_a_second, 5);
          });
}

TEST_F(AsyncPace, AtOneRateOfPromptsTheyAreTrainedSooner) {
  // Prompts arrive one after another, at 95 % of the rate that is the most for the run in turn.
  const Pace pace{kBatch, uneven_seconds, (kGenerateSeconds + kTrainSeconds) / kPrompts / 0.95};
  measure({{.name = "in turn", .pace = pace, .warm = 2, .counted = 7},
           {.name = "beside", .max_staleness = 4, .at_once = kBatch, .pace = pace, .warm = 2, .counted = 7}},
          [](const std::vector<Measured>& runs) {
            const auto& in_turn = runs[0];
            const auto& beside = runs[1];
            EXPECT_NEAR(beside.prompts_a_second / in_turn.prompts_a_second, 1, 0.1) << "the same load";
            EXPECT_LE(Measured::mean(beside.since_arrival), 0.9 * Measured::mean(in_turn.since_arrival));
            EXPECT_LE(Measured::p95(beside.since_arrival), Measured::p95(in_turn.since_arrival));
            EXPECT_EQ(beside.dropped, 0);
          });
}

/// Never answers, and breaks in the end.
class StuckGenerator : public rollout::Generator {
 public:
  Status submit(rollout::Request, rollout::TokenCallback) override { return {}; }
  void cancel(uint64_t) override {}
  Result<std::vector<rollout::Group>> step() override {
    sleep_for(0.01);
    if (clock_.now() - begin_ > 0.5) return fail("the generator is gone");
    return std::vector<rollout::Group>();
  }
  bool idle() const override { return false; }
  int64_t version() const override { return 0; }
  void set_version(int64_t) {}

 private:
  SteadyClock clock_;
  double begin_ = clock_.now();
};

TEST_F(AsyncPace, Fault8AStallSaysWhoWaitsForWhat) {
  // The asynchronous trainer idles after the start and says nothing [verl 3895].
  Rig rig(scratch_.path(), std::make_unique<SamplerOf<StuckGenerator>>(), {{"async.stall_seconds", "0.1"}});
  metrics::Record record;
  const auto batch = rig.rollouts.next(record, never);
  ASSERT_FALSE(batch);  // and never waits for a generator that has died
  EXPECT_THAT(batch.error().message, HasSubstr("the generator is gone"));
  EXPECT_THAT(rig.out.str(), HasSubstr("0 of 4 groups are there, 20 are being sampled"));
}

}  // namespace
}  // namespace nereus::runtime
