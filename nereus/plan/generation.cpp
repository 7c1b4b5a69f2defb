#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "nereus/plan/decode.h"
#include "nereus/plan/model_size.h"
#include "nereus/plan/work.h"

namespace nereus::plan {
namespace {

/// Sequences that are followed one by one; each stands for an equal share of the replica's.
constexpr int64_t kFollowed = 256;

/// How the replica's sequences are followed.
struct Sampling {
  int64_t slots = 1;  ///< followed sequences that run at once
  double weight = 1;  ///< sequences that a followed one stands for
  int64_t followed = 1;
};

Sampling sampling(int64_t sequences, int64_t concurrency) {
  if (sequences <= concurrency) {
    const int64_t followed = std::min(sequences, kFollowed);
    return {followed, static_cast<double>(sequences) / static_cast<double>(followed), followed};
  }
  const int64_t slots = std::clamp<int64_t>(kFollowed * concurrency / sequences, 1, concurrency);
  const double weight = static_cast<double>(concurrency) / static_cast<double>(slots);
  return {slots, weight, static_cast<int64_t>(std::ceil(static_cast<double>(sequences) / weight))};
}

/// Response lengths of the slowest replica, longest first. The step's samples are equal quantiles of the
/// distribution; from the longest on they are dealt to the replicas in turn, and this is the first one's
/// hand. Where one followed sequence stands for several, the first is still the longest of all: the tail is
/// its alone.
std::vector<double> lengths_of_slowest(const Job& job, const Placement& placement, const Sampling& sampling) {
  const double samples = static_cast<double>(job.samples());
  std::vector<double> result;
  for (int64_t i = 0; i < sampling.followed; ++i) {
    const double middle = i == 0 ? 0 : std::floor((static_cast<double>(i) + 0.5) * sampling.weight);
    const double rank = middle * placement.layout.dp;
    result.push_back(job.lengths.responses.empty() ? job.lengths.mean_response()
                                                   : job.lengths.at(1 - (rank + 0.5) / samples));
  }
  return result;
}

/// The same in an order that knows nothing of lengths, as prompts come: in strides of the golden ratio.
std::vector<double> shuffled(const std::vector<double>& lengths) {
  const size_t count = lengths.size();
  size_t stride = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(count) * 0.6180339887498949));
  while (std::gcd(stride, count) != 1) ++stride;
  std::vector<double> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = lengths[(i + 1) * stride % count];
  return result;
}

/// Continuous batching: sequences run until they end, and a queue fills the places that get free. Lengths are
/// given longest first.
class Batch {
 public:
  Batch(const DecodeCost& cost, double prompt, const Sampling& sampling)
      : cost_(cost), prompt_(prompt), weight_(sampling.weight), slots_(static_cast<size_t>(sampling.slots)) {}

  void run(const std::vector<double>& lengths, Generation& total) {
    if (lengths.size() <= slots_) return run_at_once(lengths, total);
    for (const double length : shuffled(lengths)) {
      if (running_.size() == slots_) advance(total);
      running_.push({steps_ + length, steps_});
      starts_ += steps_;
    }
    while (!running_.empty()) advance(total);
  }

 private:
  struct Sequence {
    double end, start;  ///< decode steps
    bool operator>(const Sequence& other) const { return end > other.end; }
  };

  /// The order in which they end is known: the last of `lengths` first.
  void run_at_once(const std::vector<double>& lengths, Generation& total) {
    for (size_t running = lengths.size(); running > 0; --running) {
      integrate(lengths[running - 1] - steps_, running, total);
      steps_ = lengths[running - 1];
    }
  }

  void advance(Generation& total) {
    integrate(running_.top().end - steps_, running_.size(), total);
    steps_ = running_.top().end;
    starts_ -= running_.top().start;
    running_.pop();
  }

  /// Over steps in which the batch is constant and the mean context grows by a token a step.
  void integrate(double steps, size_t running, Generation& total) const {
    const double count = static_cast<double>(running);
    if (steps > 0) {
      const double generated = steps_ + steps / 2 - starts_ / count;
      const DecodeStep each = cost_.step(count * weight_, prompt_ + generated);
      total.decode += steps * std::max(each.memory, each.compute);
      if (each.memory > each.compute) total.memory += steps * each.memory;
      total.communication += steps * each.communication;
      total.overhead += steps * each.overhead;
    }
  }

  const DecodeCost& cost_;
  double prompt_, weight_;
  size_t slots_;
  double steps_ = 0;   ///< decode steps so far
  double starts_ = 0;  ///< sum over the running sequences
  std::priority_queue<Sequence, std::vector<Sequence>, std::greater<>> running_;
};

double prefill_seconds(const Job& job, const Placement& placement, const Links& links,
                       const Calibration& calibration) {
  const Model& model = *job.find(placement.what.role);
  const int64_t sequences = sequences_of_replica(job, placement);
  const double prompts = std::ceil(static_cast<double>(sequences) / static_cast<double>(job.completions));
  const double prompt = static_cast<double>(job.lengths.prompt);
  double seconds = 0;
  for (int32_t p = 0; p < placement.layout.pp; ++p) {
    const RankSize size = rank_size(model, placement.layout, p);
    const double flops = forward_flops(model.config, size, placement.layout.tp, prompts * prompt,
                                       prompts * prompt * prompt, static_cast<double>(sequences));
    seconds = std::max(seconds, flops / (links.slowest.flops * calibration.prefill_efficiency));
  }
  return seconds;
}

double prefill_communication(const Job& job, const Placement& placement, const Links& links) {
  const spec::ModelConfig& config = job.find(placement.what.role)->config;
  const double sequences = static_cast<double>(sequences_of_replica(job, placement));
  const double tokens =
      std::ceil(sequences / static_cast<double>(job.completions)) * static_cast<double>(job.lengths.prompt);
  const double batches = std::ceil(tokens / static_cast<double>(kBatchedTokens));
  const double bytes = tokens / batches * job.weight_bytes * static_cast<double>(config.hidden);
  return batches * 2 * static_cast<double>(config.layers) / placement.layout.pp *
         all_reduce(links.tensor, placement.layout.tp, bytes);
}

}  // namespace

int64_t concurrency_of(const Job& job, const Placement& placement, double kv_pool_bytes) {
  const double context = in_blocks(static_cast<double>(job.lengths.prompt) + job.lengths.mean_response());
  const double each =
      context * kv_bytes(job.find(placement.what.role)->config, placement.layout, job.weight_bytes);
  const double most = static_cast<double>(sequences_of_replica(job, placement));
  return static_cast<int64_t>(std::clamp(std::floor(kv_pool_bytes / each * (1 + 1e-12)), 1.0, most));
}

Generation generate(const Job& job, const Placement& placement, const Links& links, int64_t concurrency,
                    const Calibration& calibration) {
  const Model& model = *job.find(placement.what.role);
  const DecodeCost cost(links.slowest, links.tensor, model, placement.layout, job.weight_bytes, calibration);
  const Sampling followed = sampling(sequences_of_replica(job, placement), concurrency);
  const std::vector<double> lengths = lengths_of_slowest(job, placement, followed);
  Generation result{.running = concurrency};
  result.prefill = prefill_seconds(job, placement, links, calibration);
  Batch(cost, static_cast<double>(job.lengths.prompt), followed).run(lengths, result);
  const double longest = lengths.front();
  result.alone = longest * cost.step(1, static_cast<double>(job.lengths.prompt) + longest / 2).total();
  result.communication += prefill_communication(job, placement, links);
  return result;
}

}  // namespace nereus::plan
