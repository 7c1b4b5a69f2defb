#include "nereus/simulator/decoding.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

namespace nereus::simulator {

namespace {

/// A sequence with how far it has come.
struct Sequence {
  int32_t prompt = 0, response = 0, done = 0;
  int64_t end = 0;  ///< iteration at which it is done, while it runs

  int32_t context() const { return prompt + done; }
};

class Run {
 public:
  Run(const DecodingReplica& replica, std::span<const Request> requests) : replica_(replica) {
    for (const auto& request : requests) {
      sequences_.push_back({request.prompt, request.response, 0, 0});
      waiting_.push_back(sequences_.size() - 1);
      if (rounded(request.prompt + request.response) > replica.kv_tokens) result_.fits = false;
    }
  }

  DecodingResult run() {
    if (!result_.fits) return result_;
    while (!waiting_.empty() || !running_.empty()) {
      admit();
      advance(std::min(until_done(), until_full()));
      finish();
      while (over()) preempt();
      ++result_.events;
    }
    if (result_.iterations > 0) result_.batch /= static_cast<double>(result_.iterations);
    return result_;
  }

 private:
  double rounded(int32_t tokens) const {
    return std::ceil(static_cast<double>(tokens) / replica_.block) * replica_.block;
  }
  /// Half a block of each sequence is unfilled on average.
  double held() const { return context_ + 0.5 * replica_.block * static_cast<double>(running_.size()); }
  bool over() const {
    return running_.size() > 1 && held() + static_cast<double>(running_.size()) > replica_.kv_tokens;
  }

  void admit() {
    double tokens = 0;
    while (!waiting_.empty()) {
      Sequence& next = sequences_[waiting_.front()];
      const double needed = rounded(next.context() + 1) + static_cast<double>(running_.size());
      // A little room is left, or growth would throw out at once what was let in.
      const double room = running_.empty() ? replica_.kv_tokens : 0.99 * replica_.kv_tokens;
      if (held() + needed > room && !running_.empty()) break;
      tokens += next.context();
      context_ += next.context();
      next.end = now_ + next.response - next.done;
      const std::pair entry(next.end, waiting_.front());
      running_.insert(std::ranges::lower_bound(running_, entry, std::greater<>()), entry);
      entered_.push_back(waiting_.front());
      waiting_.pop_front();
    }
    if (tokens > 0) result_.seconds += replica_.prefill(tokens);
  }

  int64_t until_done() const { return running_.back().first - now_; }

  /// Iterations for which all running sequences have room.
  int64_t until_full() const {
    const auto count = static_cast<double>(running_.size());
    if (running_.size() == 1) return until_done();
    return std::max<int64_t>(1, static_cast<int64_t>((replica_.kv_tokens - held()) / count));
  }

  /// Simpson's rule over the block's iterations; `count` sequences grow by a token in each.
  double seconds(double count, double steps) const {
    const double last = context_ + count * (steps - 1);
    const double a = replica_.iteration(count, context_);
    if (steps <= 1) return a;
    const double b = replica_.iteration(count, last);
    return steps * (a + 4 * replica_.iteration(count, 0.5 * (context_ + last)) + b) / 6;
  }

  void advance(int64_t iterations) {
    const auto count = static_cast<double>(running_.size());
    const auto steps = static_cast<double>(iterations);
    result_.seconds += seconds(count, steps);
    result_.iterations += iterations;
    result_.batch += count * steps;
    now_ += iterations;
    context_ += count * steps;
    result_.kv_peak = std::max(result_.kv_peak, held());
  }

  void finish() {
    while (!running_.empty() && running_.back().first <= now_) {
      Sequence& sequence = sequences_[running_.back().second];
      sequence.done = sequence.response;
      context_ -= sequence.context();
      running_.pop_back();
    }
  }

  /// The one that entered last and still runs. Entries of those that are done, or wait again, are stale.
  void preempt() {
    while (true) {
      const size_t last = entered_.back();
      entered_.pop_back();
      Sequence& sequence = sequences_[last];
      const std::pair entry(sequence.end, last);
      const auto found = std::ranges::lower_bound(running_, entry, std::greater<>());
      if (found == running_.end() || *found != entry) continue;
      running_.erase(found);
      sequence.done = static_cast<int32_t>(sequence.response - (sequence.end - now_));
      context_ -= sequence.context();
      waiting_.push_front(last);
      ++result_.preempted;
      return;
    }
  }

  const DecodingReplica& replica_;
  DecodingResult result_;
  std::vector<Sequence> sequences_;
  std::deque<size_t> waiting_;
  std::vector<std::pair<int64_t, size_t>> running_;  ///< by the iteration at which they are done, last first
  std::vector<size_t> entered_;
  int64_t now_ = 0;     ///< iterations so far
  double context_ = 0;  ///< tokens of KV of the running ones
};

}  // namespace

DecodingResult decode(const DecodingReplica& replica, std::span<const Request> requests) {
  return Run(replica, requests).run();
}

}  // namespace nereus::simulator
