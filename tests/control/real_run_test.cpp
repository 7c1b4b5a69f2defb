// A real run of 210 steps, whose responses first shrink and then triple: each step's times predicted before
// the step, by the planner's model and what the calibration has learnt so far.
#include <gmock/gmock.h>

#include <cmath>

#include "nereus/control/calibration.h"
#include "nereus/control/lengths.h"
#include "nereus/plan/known_models.h"
#include "rl_log.h"

namespace nereus::control {
namespace {

using Step = std::map<std::string, double>;

constexpr int64_t kLimit = 1024, kSamples = 5120;
constexpr size_t kFirst = 5;  // steps before any is judged
const char* const kGenerate = "timing_s/generate_sequences";
const char* const kWholeGenerate = "timing_s/gen";  // until the slowest replica, with resharding
const char* const kInfer = "timing_s/old_log_prob";
const char* const kTrain = "timing_s/update_actor";

std::vector<Step> read() {
  return test::read_rl_log(NEREUS_SOURCE_DIR "/../shared/data/traces/rl-logs/verldata-qwen2-7b-math.log");
}

plan::Lengths lengths_of_step(const Step& step) {
  return value_or_throw(lengths_of({.mean = step.at("response_length/mean"),
                                    .max = step.at("response_length/max"),
                                    .clip_ratio = step.at("response_length/clip_ratio"),
                                    .limit = kLimit,
                                    .samples = kSamples},
                                   std::llround(step.at("prompt_length/mean"))));
}

/// The run's model on eight devices. Which devices those were is not known: the calibration makes up for it.
class World {
 public:
  World() {
    cluster_.machines = {{.name = "node", .kind = *cluster::known_device("A100-80"), .devices = 8}};
    job_.models = {{.role = plan::Role::actor, .config = *plan::known_model("qwen2.5-7b")}};
    job_.prompts = kSamples / 8, job_.completions = 8;
  }

  double analytic(plan::Stage stage, const plan::Lengths& lengths) {
    job_.lengths = lengths;
    plan::Placement placement{
        .what = {plan::Role::actor, stage}, .devices = {0, 1, 2, 3, 4, 5, 6, 7}, .layout = {.dp = 8}};
    return plan::stage_time(cluster_, job_, placement, 50e9, {}).total();
  }

 private:
  cluster::Cluster cluster_;
  plan::Job job_;
};

struct Errors {
  double persistence = 0, forecast = 0, known = 0;  // mean absolute relative errors
};

// `forecast`: nothing of the step is known. `known`: its lengths are. `persistence`: as long as the step
// before.
Errors errors_of(const std::vector<Step>& steps, const char* key, plan::Stage stage) {
  World world;
  Calibrator calibrator;
  LengthForecast forecast;
  Errors errors;
  auto predict = [&](const plan::Lengths& lengths) {
    const plan::Calibration learned = calibrator.calibration({});
    return learned.factor(operation_of(stage), "r") * world.analytic(stage, lengths) +
           learned.offset(operation_of(stage), "r");
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const plan::Lengths lengths = lengths_of_step(steps[i]);
    const double measured = steps[i].at(key), share = 1 / static_cast<double>(steps.size() - kFirst);
    if (i >= kFirst) {
      errors.persistence += std::abs(steps[i - 1].at(key) / measured - 1) * share;
      errors.forecast += std::abs(predict(forecast.ahead(1)) / measured - 1) * share;
      errors.known += std::abs(predict(lengths) / measured - 1) * share;
    }
    calibrator.observe(operation_of(stage), "r", world.analytic(stage, lengths), measured);
    calibrator.end_step();
    forecast.observe(lengths);
  }
  std::printf("%-28s mean error: as the step before %.2f %%, forecast %.2f %%, lengths known %.2f %%\n", key,
              100 * errors.persistence, 100 * errors.forecast, 100 * errors.known);
  return errors;
}

TEST(RealRun, OneStepAheadPredictions) {
  const std::vector<Step> steps = read();
  if (steps.empty()) GTEST_SKIP() << "shared data are missing";
  struct Case {
    const char* key;
    plan::Stage stage;
    double most;
  };
  for (const Case& c :
       {Case{kGenerate, plan::Stage::generate, 0.05}, Case{kWholeGenerate, plan::Stage::generate, 0.05},
        Case{kInfer, plan::Stage::infer, 0.02}, Case{kTrain, plan::Stage::train, 0.02}}) {
    const Errors errors = errors_of(steps, c.key, c.stage);
    EXPECT_LE(errors.forecast, c.most) << c.key;
    EXPECT_LT(errors.known, errors.persistence) << c.key;
  }
}

// What a fit to the first half says of the second, after lengths had tripled.
TEST(RealRun, LongerResponsesThanEverSeen) {
  const std::vector<Step> steps = read();
  if (steps.empty()) GTEST_SKIP() << "shared data are missing";
  for (const auto& [key, stage, most] :
       {std::tuple{kInfer, plan::Stage::infer, 0.12}, std::tuple{kTrain, plan::Stage::train, 0.05}}) {
    World world;
    Calibrator calibrator;
    double ratio = 0;  // of a fit without a constant
    for (size_t i = 0; i < steps.size() / 2; ++i) {
      const double analytic = world.analytic(stage, lengths_of_step(steps[i]));
      calibrator.observe(operation_of(stage), "r", analytic, steps[i].at(key));
      calibrator.end_step();
      ratio += steps[i].at(key) / analytic / static_cast<double>(steps.size() / 2);
    }
    const plan::Calibration learned = calibrator.calibration({});
    double error = 0, proportional = 0;
    for (size_t i = steps.size() / 2; i < steps.size(); ++i) {
      const double analytic = world.analytic(stage, lengths_of_step(steps[i]));
      const double predicted =
          learned.factor(operation_of(stage), "r") * analytic + learned.offset(operation_of(stage), "r");
      const double share = 1 / static_cast<double>(steps.size() - steps.size() / 2);
      error += std::abs(predicted / steps[i].at(key) - 1) * share;
      proportional += std::abs(ratio * analytic / steps[i].at(key) - 1) * share;
    }
    std::printf("%-28s second half from the first: mean error %.1f %%, without a constant %.1f %%\n", key,
                100 * error, 100 * proportional);
    EXPECT_LE(error, most) << key;
    EXPECT_LE(error, 0.7 * proportional) << key;
  }
}

TEST(RealRun, ForecastOfLengthsFollowsTheRun) {
  const std::vector<Step> steps = read();
  if (steps.empty()) GTEST_SKIP() << "shared data are missing";
  LengthForecast forecast;
  double error = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i >= kFirst)
      error += std::abs(forecast.ahead(1).mean_response() / steps[i].at("response_length/mean") - 1) /
               static_cast<double>(steps.size() - kFirst);
    forecast.observe(lengths_of_step(steps[i]));
  }
  std::printf("mean response length one step ahead: mean error %.2f %%\n", 100 * error);
  EXPECT_LE(error, 0.03);
}

}  // namespace
}  // namespace nereus::control
