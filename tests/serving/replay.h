#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <memory>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/serving/routing.h"

namespace nereus::test {

/// Rollouts of a training job as they reach its servers: groups of `group` completions of one prompt, prompts
/// that share a system prompt, uneven lengths, arrivals in bursts, and `turns` requests a conversation.
struct ReplayOptions {
  size_t rollouts = 64728;
  uint32_t group = 8;
  uint32_t turns = 1;
  uint32_t burst_groups = 32;  ///< that are submitted together
  uint32_t interleaved = 1;    ///< groups whose requests mix on their way
  double burst_seconds = 4;    ///< between two bursts, on average
  double answer_seconds = 3;   ///< of a request, on average
  size_t servers = 4;
  size_t cache_blocks = 4096;  ///< that a server's prefix cache holds
  size_t system_tokens = 200;
  uint64_t seed = 1;
};

enum class Policy : uint8_t { prefix, round_robin, least_loaded };

struct ReplayResult {
  size_t requests = 0, affinity = 0, fresh = 0, spilled = 0;
  double busiest = 0;   ///< requests of the busiest server, to the mean
  double crowded = 0;   ///< requests that ran at the busiest server, to the mean: of the 1 % worst moments
  double hit_rate = 0;  ///< prompt blocks that the server had cached
};

/// The prefix cache of a server: blocks, the one not used for longest is dropped.
class CacheModel {
 public:
  explicit CacheModel(size_t capacity) : capacity_(capacity) {}
  /// How many leading blocks were there; all of them are afterwards.
  size_t use(const std::vector<uint64_t>& blocks) {
    size_t hits = 0;
    while (hits < blocks.size() && places_.contains(blocks[hits])) ++hits;
    for (size_t i = blocks.size(); i-- > 0;) touch(blocks[i]);
    return hits;
  }

 private:
  void touch(uint64_t block) {
    if (const auto found = places_.find(block); found != places_.end()) {
      order_.splice(order_.end(), order_, found->second);
      return;
    }
    places_[block] = order_.insert(order_.end(), block);
    if (order_.size() <= capacity_) return;
    places_.erase(order_.front());
    order_.pop_front();
  }
  size_t capacity_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places_;
};

class Replay {
 public:
  explicit Replay(ReplayOptions options)
      : options_(options), random_(options.seed, 0), running_(options.servers), served_(options.servers) {
    for (size_t i = 0; i < options.servers; ++i) caches_.emplace_back(options.cache_blocks);
    for (size_t i = 0; i < options.system_tokens; ++i) system_.push_back(token());
  }

  ReplayResult run(Policy policy, serving::RouterOptions routing = {}) {
    serving::PrefixRouter router(options_.servers, routing);
    double time = 0;
    for (size_t group = 0; made_ < options_.rollouts; group += options_.burst_groups) {
      submit_burst(time);
      time += options_.burst_seconds * (0.25 + 1.5 * random_.uniform());
      while (!events_.empty() && events_.top().time <= time) next(router, policy);
    }
    while (!events_.empty()) next(router, policy);
    finish();
    return result_;
  }

 private:
  static constexpr double kManyRequests = 16;
  struct Rollout {
    std::vector<int32_t> prompt;
    uint32_t turn = 0;
  };
  struct Event {
    double time = 0;
    uint64_t order = 0;
    int64_t done = -1;  // the server that ends a request, or -1 where one arrives
    std::shared_ptr<Rollout> rollout;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  int32_t token() { return static_cast<int32_t>(random_.below(50000)); }
  /// Lengths with a long tail.
  size_t length(double typical) {
    return static_cast<size_t>(typical * std::exp(0.7 * random_.normal())) + 1;
  }
  void push(double time, int64_t done, std::shared_ptr<Rollout> rollout) {
    events_.push({time, order_++, done, std::move(rollout)});
  }

  void submit_burst(double time) {
    std::vector<std::vector<int32_t>> prompts;
    for (uint32_t g = 0; g < options_.burst_groups && made_ < options_.rollouts; ++g) {
      prompts.push_back(system_);
      for (size_t i = length(120); i > 0; --i) prompts.back().push_back(token());
      made_ += options_.group;
    }
    for (size_t first = 0; first < prompts.size(); first += options_.interleaved)
      for (uint32_t i = 0; i < options_.group; ++i)
        for (size_t g = first; g < std::min(first + options_.interleaved, prompts.size()); ++g)
          push(time + 1e-3 * static_cast<double>(order_ % 1024), -1,
               std::make_shared<Rollout>(Rollout{prompts[g], 0}));
  }

  void next(serving::PrefixRouter& router, Policy policy) {
    const Event event = events_.top();
    events_.pop();
    if (event.done < 0) return arrive(router, policy, event);
    --running_[static_cast<size_t>(event.done)];
    Rollout& rollout = *event.rollout;
    if (++rollout.turn >= options_.turns) return;
    // The answer, and what the environment says to it.
    for (size_t i = length(150); i > 0; --i) rollout.prompt.push_back(token());
    push(event.time + 0.5 * random_.uniform(), -1, event.rollout);
  }

  void arrive(serving::PrefixRouter& router, Policy policy, const Event& event) {
    const auto blocks = serving::block_hashes("policy-v1", event.rollout->prompt, 16);
    const size_t server = choose(router, policy, blocks);
    ++running_[server];
    ++served_[server];
    measure_crowd();
    hits_ += caches_[server].use(blocks);
    blocks_ += blocks.size();
    ++result_.requests;
    push(event.time + options_.answer_seconds * std::exp(0.5 * random_.normal()),
         static_cast<int64_t>(server), event.rollout);
  }

  size_t choose(serving::PrefixRouter& router, Policy policy, const std::vector<uint64_t>& blocks) {
    if (policy == Policy::round_robin) return result_.requests % options_.servers;
    const std::vector<bool> all(options_.servers, true);
    const auto route =
        router.choose(policy == Policy::prefix ? blocks : std::vector<uint64_t>(), running_, all);
    ++(route.reason == serving::RouteReason::affinity ? result_.affinity
       : route.reason == serving::RouteReason::fresh  ? result_.fresh
                                                      : result_.spilled);
    return route.server;
  }

  void measure_crowd() {
    const auto sum = static_cast<double>(std::accumulate(running_.begin(), running_.end(), int64_t{0}));
    const double mean = sum / static_cast<double>(options_.servers);
    // With few requests at a server, one more of them is a large part.
    if (mean >= kManyRequests)
      crowds_.push_back(static_cast<double>(*std::ranges::max_element(running_)) / mean);
  }

  void finish() {
    if (!crowds_.empty()) {
      const auto worst = crowds_.begin() + static_cast<ptrdiff_t>(crowds_.size() * 99 / 100);
      std::ranges::nth_element(crowds_, worst);
      result_.crowded = *worst;
    }
    const double mean = static_cast<double>(result_.requests) / static_cast<double>(options_.servers);
    for (const size_t count : served_)
      result_.busiest = std::max(result_.busiest, static_cast<double>(count) / mean);
    result_.hit_rate = static_cast<double>(hits_) / static_cast<double>(blocks_);
  }

  const ReplayOptions options_;
  RandomStream random_;
  std::vector<int32_t> system_;
  std::priority_queue<Event> events_;
  std::vector<int64_t> running_;
  std::vector<size_t> served_;
  std::vector<CacheModel> caches_;
  std::vector<double> crowds_;
  uint64_t order_ = 0;
  size_t made_ = 0, hits_ = 0, blocks_ = 0;
  ReplayResult result_;
};

}  // namespace nereus::test
