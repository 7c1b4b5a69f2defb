#include "nereus/runtime/evaluation_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::runtime {

namespace {

OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

}  // namespace

Share wilson(int64_t hits, int64_t count) {
  if (count == 0) return {0, 0, 1};
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const double n = static_cast<double>(count), p = static_cast<double>(hits) / n;
  const double scale = 1 + kZ * kZ / n;
  const double center = (p + kZ * kZ / (2 * n)) / scale;
  const double half = kZ / scale * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return {p, std::max(0.0, center - half), std::min(1.0, center + half)};
}

OrderedJson to_json(const Evaluation& e) {
  OrderedJson rewards = OrderedJson::object();
  for (const auto& [name, mean] : e.rewards) rewards[name] = number(mean);
  return {{"accuracy", e.accuracy.value},
          {"accuracy_low", e.accuracy.low},
          {"accuracy_high", e.accuracy.high},
          {"samples", e.samples},
          {"absent", e.absent},
          {"skipped", e.skipped},
          {"reward", number(e.reward)},
          {"rewards", rewards},
          {"mean_length", number(e.mean_length)},
          {"clipped_ratio", number(e.clipped_ratio)},
          {"seconds", e.seconds}};
}

std::string describe(const Evaluation& e) {
  std::string text = fmt::format("accuracy {:.3f} (95 % interval {:.3f} to {:.3f}) over {} answers",
                                 e.accuracy.value, e.accuracy.low, e.accuracy.high, e.samples);
  for (const auto& [name, mean] : e.rewards) text += fmt::format(", {} {:.3f}", name, mean);
  text += fmt::format(", {:.1f} tokens an answer, {:.0f} % cut off, {:.1f} s", e.mean_length,
                      e.clipped_ratio * 100, e.seconds);
  if (e.absent > 0) text += fmt::format(", {} without a reward", e.absent);
  if (e.skipped > 0) text += fmt::format(", {} over-long prompts skipped", e.skipped);
  return text;
}

}  // namespace nereus::runtime
