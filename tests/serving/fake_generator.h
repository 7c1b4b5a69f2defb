#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "nereus/rollout/generator.h"

namespace nereus::test {

/// A generator that answers every prompt with the same tokens, one a step and completion, so that what goes
/// through a server can be followed. Log-probs are -0.5 times the
/// position. Faults are scripted by the test, from any thread.
class FakeGenerator final : public rollout::Generator {
 public:
  struct Script {
    std::mutex mutex;
    rollout::Tokens answer;  ///< again and again, until a stop token or the length ends it
    std::map<std::string, rollout::Tokens>
        policies;  ///< answers of other policies than its own, at version 7
    int64_t version = 0;
    int failing_steps = 0;  ///< steps that fail from now on
    int submitted = 0, cancelled = 0, steps = 0;
    std::vector<rollout::Request> requests;
    double step_seconds = 0;
    std::mutex gate;            ///< a step ends when it can be had: a test that holds it holds the step
    int64_t cached_tokens = 0;  ///< of each prompt, as a prefix cache would say
  };
  explicit FakeGenerator(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  Status submit(rollout::Request request, rollout::TokenCallback on_token) override {
    const std::lock_guard lock(script_->mutex);
    if (request.prompt.size() > 1000)
      return fail("the prompt has {} tokens, the context holds 1000", request.prompt.size());
    if (active_.contains(request.prompt_id)) return fail("prompt {} was submitted twice", request.prompt_id);
    ++script_->submitted;
    script_->requests.push_back(request);
    Active active{std::move(request), std::move(on_token), {}};
    active.group.prompt_id = active.request.prompt_id;
    active.group.prompt = active.request.prompt;
    active.group.cached_tokens = script_->cached_tokens;
    for (uint32_t i = 0; i < active.request.count; ++i)
      active.group.completions.push_back({.index = i, .tokens = {}, .logprobs = {}, .versions = {}});
    active.running = active.request.count;
    active.done.assign(active.request.count, false);
    active_.emplace(active.request.prompt_id, std::move(active));
    return {};
  }

  void cancel(uint64_t prompt_id) override {
    const auto found = active_.find(prompt_id);
    if (found == active_.end()) return;
    const std::lock_guard lock(script_->mutex);
    ++script_->cancelled;
    for (auto& completion : found->second.group.completions)
      if (!found->second.done[completion.index]) completion.finish = rollout::Finish::cancelled;
    found->second.running = 0;
  }

  Result<std::vector<rollout::Group>> step() override {
    rollout::Tokens own;
    std::map<std::string, rollout::Tokens> policies;
    int64_t version = 0;
    double seconds = 0;
    {
      const std::lock_guard lock(script_->mutex);
      ++script_->steps;
      if (script_->failing_steps > 0) {
        --script_->failing_steps;
        return fail("the logits are not finite");
      }
      own = script_->answer;
      policies = script_->policies;
      version = script_->version;
      seconds = script_->step_seconds;
    }
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const std::lock_guard held(script_->gate);
    std::vector<rollout::Group> finished;
    for (auto at = active_.begin(); at != active_.end();) {
      const std::string& policy = at->second.request.policy;
      advance(at->second, policy.empty() ? own : policies.at(policy), policy.empty() ? version : 7);
      if (at->second.running > 0) {
        ++at;
        continue;
      }
      finished.push_back(std::move(at->second.group));
      at = active_.erase(at);
    }
    return finished;
  }

  bool idle() const override { return active_.empty(); }
  int64_t version() const override {
    const std::lock_guard lock(script_->mutex);
    return script_->version;
  }

 private:
  struct Active {
    rollout::Request request;
    rollout::TokenCallback on_token;
    rollout::Group group;
    uint32_t running = 0;
    std::vector<bool> done{};
  };

  static void advance(Active& active, const rollout::Tokens& answer, int64_t version) {
    const auto& sampling = active.request.sampling;
    for (auto& completion : active.group.completions) {
      if (active.running == 0) return;
      if (active.done[completion.index]) continue;
      const size_t position = completion.tokens.size();
      const int32_t token = answer[position % answer.size()];
      const float logprob = -0.5F * static_cast<float>(position + 1);
      completion.tokens.push_back(token);
      completion.logprobs.push_back(logprob);
      completion.versions.push_back(version);
      const bool go_on =
          !active.on_token || active.on_token(active.request.prompt_id, completion.index, token, logprob);
      const bool stop = !go_on || std::ranges::count(sampling.stop_ids, token) > 0;
      const bool full = static_cast<int32_t>(completion.tokens.size()) >= sampling.max_new_tokens;
      if (!stop && !full) continue;
      completion.finish = stop ? rollout::Finish::stop : rollout::Finish::length;
      active.done[completion.index] = true;
      --active.running;
    }
  }

  std::shared_ptr<Script> script_;
  std::map<uint64_t, Active> active_;
};

}  // namespace nereus::test
