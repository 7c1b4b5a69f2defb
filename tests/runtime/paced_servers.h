#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/rollout/generator.h"

namespace nereus::runtime {

inline void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct Pace {
  size_t slots = 1;                                        ///< completions that the servers sample at once
  std::function<double(uint64_t, uint32_t)> seconds = {};  ///< of a prompt's completion, once it has a slot
  double prompt_interval = 0;  ///< seconds between the arrivals of two prompts; 0: whenever one is asked for
};

/// What happened to each prompt, in seconds of the steady clock. Thread-safe.
class Journal {
 public:
  struct Times {
    double arrived = 0;   ///< is there for whoever wants it
    double begun = 0;     ///< the servers were given it, and it had arrived
    double answered = 0;  ///< its last completion ended
  };
  void note(uint64_t prompt, Times times) {
    const std::lock_guard lock(mutex_);
    times_[prompt] = times;
  }
  Times of(uint64_t prompt) const {
    const std::lock_guard lock(mutex_);
    return times_.at(prompt);
  }
  /// Prompts answered in a span of time.
  double answered(double from, double to) const {
    const std::lock_guard lock(mutex_);
    double count = 0;
    for (const auto& [prompt, times] : times_) count += times.answered > from && times.answered <= to ? 1 : 0;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Times> times_;
};

/// Servers whose completions take the time that a test sets, in real time: when each begins and ends is
/// computed from the ends of those before it, so it does not depend on when somebody looks.
class PacedServers : public rollout::Generator {
 public:
  PacedServers(Pace pace, Journal& journal) : pace_(std::move(pace)), journal_(journal) {
    for (size_t slot = 0; slot < pace_.slots; ++slot) free_at_.push(begin_);
  }

  Status submit(rollout::Request request, rollout::TokenCallback) override {
    Journal::Times times;
    const double now = clock_.now();
    times.arrived = pace_.prompt_interval > 0 ? begin_ + pace_.prompt_interval * arrivals_++ : now;
    times.begun = std::max(now, times.arrived);
    for (uint32_t i = 0; i < request.count; ++i) {
      const double start = std::max(times.begun, free_at_.top());
      free_at_.pop();
      free_at_.push(start + pace_.seconds(request.prompt_id, i));
      times.answered = std::max(times.answered, start + pace_.seconds(request.prompt_id, i));
    }
    journal_.note(request.prompt_id, times);
    running_.emplace(times.answered, answer(request));
    return {};
  }
  void cancel(uint64_t) override {}
  Result<std::vector<rollout::Group>> step() override {
    sleep_for(0.001);
    std::vector<rollout::Group> done;
    for (; !running_.empty() && running_.begin()->first <= clock_.now(); running_.erase(running_.begin()))
      done.push_back(std::move(running_.begin()->second));
    return done;
  }
  bool idle() const override { return running_.empty(); }
  int64_t version() const override { return version_; }
  void set_version(int64_t version) { version_ = version; }

 private:
  /// Under the policy that it begins with.
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

  const Pace pace_;
  Journal& journal_;
  SteadyClock clock_;
  const double begin_ = clock_.now();
  double arrivals_ = 0;
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at_;  ///< one a slot
  std::multimap<double, rollout::Group> running_;                             ///< by when they are answered
  int64_t version_ = 0;
};

}  // namespace nereus::runtime
