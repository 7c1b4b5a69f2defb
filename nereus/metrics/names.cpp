#include "nereus/metrics/names.h"

#include <algorithm>
#include <array>

namespace nereus::metrics {
namespace {

constexpr std::array kNames = {
    MetricName{"num_tokens", "tokens", "tokens trained on since the start of the run, prompts included"},
    MetricName{"step_time", "s", "time of the whole step"},
    MetricName{"completions/mean_length", "tokens", "mean length of the completions"},
    MetricName{"completions/min_length", "tokens", "length of the shortest"},
    MetricName{"completions/max_length", "tokens", "length of the longest"},
    MetricName{"completions/mean_terminated_length", "tokens",
               "mean length of those that ended by themselves"},
    MetricName{"completions/min_terminated_length", "tokens", "length of the shortest of those"},
    MetricName{"completions/max_terminated_length", "tokens", "length of the longest of those"},
    MetricName{"completions/clipped_ratio", "share", "completions cut off at the longest length allowed"},
    MetricName{"reward", "", "mean of the weighted sum of all rewards"},
    MetricName{"reward_std", "", "mean over groups of the deviation of that sum"},
    MetricName{"frac_reward_zero_std", "share",
               "groups whose completions all have one reward: they teach nothing"},
    MetricName{"rewards/NAME/mean", "", "mean of one reward, without absent ones"},
    MetricName{"rewards/NAME/std", "", "its deviation"},
    MetricName{"kl", "nats", "mean per token of the estimate of KL(policy, reference)"},
    MetricName{"entropy", "nats", "mean entropy of the policy at the trained tokens"},
    MetricName{"policy_loss", "", "loss of the policy"},
    MetricName{"value_loss", "", "loss of the critic"},
    MetricName{"grad_norm", "", "norm of the gradient before clipping"},
    MetricName{"lr", "", "learning rate of the step"},
    MetricName{"clip_ratio/low_mean", "share", "tokens whose ratio was clipped from below"},
    MetricName{"clip_ratio/low_min", "share", "smallest such share of a micro-batch"},
    MetricName{"clip_ratio/high_mean", "share", "tokens whose ratio was clipped from above"},
    MetricName{"clip_ratio/high_max", "share", "largest such share of a micro-batch"},
    MetricName{"clip_ratio/region_mean", "share", "tokens clipped on either side"},
    MetricName{"sampling/logp_difference/mean", "nats", "mean distance of trainer and sampler log-probs"},
    MetricName{"sampling/logp_difference/max", "nats", "largest such distance"},
    MetricName{"sampling/same_policy/logp_difference/mean", "nats",
               "the same distance under the policy that sampled, of one completion of the step"},
    MetricName{"sampling/same_policy/logp_difference/max", "nats", "largest such distance"},
    MetricName{"sampling/same_policy/importance_ratio/mean", "",
               "mean trainer-to-sampler ratio under that policy"},
    MetricName{"sampling/importance_ratio/min", "", "smallest trainer-to-sampler ratio"},
    MetricName{"sampling/importance_ratio/mean", "",
               "mean of that ratio, over tokens, or over sequences where the correction is by sequence"},
    MetricName{"sampling/importance_ratio/max", "", "largest of that ratio"},
    MetricName{"ratio", "", "mean ratio of the policy to the policy before the step"},
    MetricName{"ratio_min", "", "smallest such ratio of a token"},
    MetricName{"ratio_max", "", "largest such ratio of a token"},
    MetricName{"masked/correction", "share", "tokens that the correction for the sampler left out"},
    MetricName{"masked/off_policy", "share", "tokens of sequences left out as too far off policy"},
    MetricName{"masked/entropy", "share", "tokens left out as too certain"},
    MetricName{"perf/step_s", "s", "time of the whole step"},
    MetricName{"perf/generate_s", "s", "time in generation"},
    MetricName{"perf/reward_s", "s", "time in rewards"},
    MetricName{"perf/logprob_s", "s", "time in log-probs of the old and the reference policy"},
    MetricName{"perf/train_s", "s", "time in forward, backward and optimizer"},
    MetricName{"perf/sync_s", "s", "time to hand the new policy to the sampler"},
    MetricName{"perf/rollout_wait_s", "s", "time the trainer waited for completions"},
    MetricName{"perf/tokens_per_s", "tokens/s", "tokens of the step over its time"},
    MetricName{"perf/mfu", "share", "arithmetic done over what the devices could do"},
    MetricName{"sample/queue_size", "groups", "groups waiting to be trained"},
    MetricName{"sample/time_in_queue_s", "s", "mean time that trained groups waited"},
    MetricName{"sample/staleness_mean", "versions", "mean age of the trained completions"},
    MetricName{"sample/staleness_max", "versions", "age of the oldest"},
    MetricName{"sample/dropped_stale_total", "completions",
               "completions dropped as too old, since the start"},
    MetricName{"rollout/inflight", "completions", "completions being sampled"},
    MetricName{"rollout/backpressure_s", "s", "time that generation waited for the trainer"},
    MetricName{"rollout/generated_tokens_per_s", "tokens/s", "tokens sampled over the time in generation"},
    MetricName{"plan/id", "", "number of the plan in use"},
    MetricName{"plan/predicted_step_s", "s", "time that the cost model predicted"},
    MetricName{"plan/observed_step_s", "s", "time that the step took"},
    MetricName{"memory/DEVICE/COMPONENT", "bytes", "memory held by one part on one device"},
};

bool placeholder(std::string_view part) {
  return part == "NAME" || part == "DEVICE" || part == "COMPONENT";
}

std::string_view take_part(std::string_view& rest) {
  const size_t end = rest.find('/');
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool fits(std::string_view entry, std::string_view name) {
  while (!entry.empty() && !name.empty()) {
    const std::string_view expected = take_part(entry), part = take_part(name);
    if (part.empty() || (!placeholder(expected) && part != expected)) return false;
  }
  return entry.empty() && name.empty();
}

}  // namespace

std::span<const MetricName> metric_names() {
  return kNames;
}

bool is_metric(std::string_view name) {
  if (name.ends_with('/')) return false;
  return std::ranges::any_of(kNames, [&](const MetricName& entry) { return fits(entry.name, name); });
}

}  // namespace nereus::metrics
