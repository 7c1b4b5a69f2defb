#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "nereus/runtime/async_rollouts.h"
#include "nereus/runtime/evaluation.h"
#include "nereus/runtime/job_file.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {

/// Samples by a generator of a test, which is told of each new version.
template <class G>
class SamplerOf : public PolicySampler {
 public:
  template <class... Args>
  explicit SamplerOf(Args&&... args) : generator_(std::forward<Args>(args)...) {}

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

inline constexpr const char* kAsyncJob = R"([model]
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

inline bool never() {
  return false;
}

/// What asynchronous rollouts need, over a tiny model.
struct Rig {
  Rig(const std::filesystem::path& folder, std::unique_ptr<PolicySampler> sampler,
      const config::Overrides& overrides)
      : job(value_or_throw(parse_job(kAsyncJob, "job.toml", folder, overrides))),
        actor(value_or_throw(Actor::load(job))),
        encoder(
            value_or_throw(text::PromptEncoder::make(value_or_throw(text::Tokenizer::load(job.model.path))))),
        data(value_or_throw(open_training_data(job))),
        stream(*data, encoder, {0, true, 100, false}),
        rewards(value_or_throw(make_rewards(job.rewards))),
        progress(out, clock, {}),
        rollouts({job, actor, encoder, stream, rewards, progress, clock}, std::move(sampler)) {
    value_or_throw(rollouts.start({}, 0, never));
  }

  Job job;
  Actor actor;
  text::PromptEncoder encoder;
  decltype(value_or_throw(open_training_data(std::declval<Job>()))) data;
  PromptStream stream;
  tasks::RewardList rewards;
  SteadyClock clock;
  std::ostringstream out;
  metrics::Progress progress;
  AsyncRollouts rollouts;
};

}  // namespace nereus::runtime
