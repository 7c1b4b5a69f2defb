// Sampling beside training, with a sampler and a trainer that take the times of a real run: 18 s of
// generation in a synchronous step of 22.9 s, 4.8 s of the trainer's own; twenty times faster here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <sstream>
#include <thread>

#include "nereus/runtime/async_rollouts.h"
#include "nereus/runtime/evaluation.h"
#include "nereus/runtime/job_file.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

constexpr double kGenerateSeconds = 18.0 / 20, kTrainSeconds = 4.8 / 20;

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Servers with room for everything, whose answers take their time.
class PacedGenerator : public rollout::Generator {
 public:
  Status submit(rollout::Request request, rollout::TokenCallback) override {
    running_.push_back({clock_.now() + kGenerateSeconds, std::move(request)});
    return {};
  }
  void cancel(uint64_t) override {}
  Result<std::vector<rollout::Group>> step() override {
    sleep_for(0.002);
    std::vector<rollout::Group> done;
    for (; !running_.empty() && running_.front().first <= clock_.now(); running_.pop_front())
      done.push_back(answer(running_.front().second));
    return done;
  }
  bool idle() const override { return running_.empty(); }
  int64_t version() const override { return version_; }
  void set_version(int64_t version) { version_ = version; }

 private:
  rollout::Group answer(const rollout::Request& request) const {
    rollout::Group group{request.prompt_id, request.prompt, {}};
    for (uint32_t i = 0; i < request.count; ++i) {
      rollout::Completion completion;
      completion.index = i;
      completion.tokens = {static_cast<int32_t>(40 + i), 50};
      completion.logprobs = {-1, -1};
      completion.versions = {version_, version_};
      group.completions.push_back(std::move(completion));
    }
    return group;
  }

  SteadyClock clock_;
  std::deque<std::pair<double, rollout::Request>> running_;
  int64_t version_ = 0;
};

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

template <class G>
class SamplerOf : public PolicySampler {
 public:
  void hand_over(const model::Transformer&, int64_t version) override { handed_ = version; }
  Result<std::optional<int64_t>> adopt() override {
    const int64_t handed = handed_.exchange(-1);
    if (handed < 0) return std::nullopt;
    generator_.set_version(handed);
    return handed;
  }
  rollout::Generator& generator() override { return generator_; }
  bool embedded() const override { return false; }

 private:
  std::atomic<int64_t> handed_ = -1;
  G generator_;
};

constexpr const char* kJob = R"([model]
path = "tiny"
[data]
task = "addition"
prompts = 4
[[reward]]
kind = "regex"
pattern = "e"
[generation]
completions = 2
max_new_tokens = 6
max_running = 64
[lora]
rank = 2
[async]
enabled = true
)";

/// What asynchronous rollouts need, over a tiny model.
struct Rig {
  Rig(const std::filesystem::path& folder, std::unique_ptr<PolicySampler> sampler,
      const config::Overrides& overrides)
      : job(value_or_throw(parse_job(kJob, "job.toml", folder, overrides))),
        actor(value_or_throw(Actor::load(job))),
        encoder(value_or_throw(PromptEncoder::make(value_or_throw(text::Tokenizer::load(job.model.path))))),
        data(value_or_throw(open_training_data(job))),
        stream(*data, encoder, {0, true, 100, false}),
        rewards(value_or_throw(make_rewards(job.rewards))),
        progress(out, clock, {}),
        rollouts({job, actor, encoder, stream, rewards, progress, clock}, std::move(sampler)) {
    value_or_throw(rollouts.start({}, 0));
  }

  Job job;
  Actor actor;
  PromptEncoder encoder;
  decltype(value_or_throw(open_training_data(std::declval<Job>()))) data;
  PromptStream stream;
  tasks::RewardList rewards;
  SteadyClock clock;
  std::ostringstream out;
  metrics::Progress progress;
  AsyncRollouts rollouts;
};

/// Mean seconds of the last `counted` of some steps.
double step_seconds(const std::filesystem::path& folder, int64_t max_staleness, int64_t steps,
                    int64_t counted) {
  Rig rig(folder, std::make_unique<SamplerOf<PacedGenerator>>(),
          {{"async.max_staleness", std::to_string(max_staleness)}});
  double begin = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (step == steps - counted) begin = rig.clock.now();
    metrics::Record record;
    const auto batch = value_or_throw(rig.rollouts.next(record));
    EXPECT_EQ(batch.groups.size(), 4U);
    EXPECT_LE(*record.get("sample/staleness_max"), static_cast<double>(max_staleness));
    sleep_for(kTrainSeconds);
    value_or_throw(rig.rollouts.trained(step + 1));
  }
  return (rig.clock.now() - begin) / static_cast<double>(counted);
}

TEST(AsyncPace, GenerationNeverWaitsForTraining) {
  const ScratchFolder scratch;
  write_tiny_model(scratch.path() / "tiny");
  const double in_turn = step_seconds(scratch.path(), 0, 5, 4);
  const double beside = step_seconds(scratch.path(), 4, 18, 12);
  RecordProperty("in_turn_s", std::to_string(in_turn));
  RecordProperty("beside_s", std::to_string(beside));
  EXPECT_GE(in_turn, kGenerateSeconds + kTrainSeconds);
  EXPECT_LE(beside, 1.1 * kTrainSeconds) << "the trainer's own time";
  EXPECT_GE(in_turn / beside, 4.5);
}

TEST(AsyncPace, Fault8AStallSaysWhoWaitsForWhat) {
  // The asynchronous trainer idles after the start and says nothing [verl 3895].
  const ScratchFolder scratch;
  write_tiny_model(scratch.path() / "tiny");
  Rig rig(scratch.path(), std::make_unique<SamplerOf<StuckGenerator>>(), {{"async.stall_seconds", "0.1"}});
  metrics::Record record;
  const auto batch = rig.rollouts.next(record);
  ASSERT_FALSE(batch);  // and never waits for a generator that has died
  EXPECT_THAT(batch.error().message, HasSubstr("the generator is gone"));
  EXPECT_THAT(rig.out.str(), HasSubstr("0 of 4 groups are there, 20 are being sampled"));
}

}  // namespace
}  // namespace nereus::runtime
