#include "nereus/generation/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace nereus::generation {
namespace {

/// Sum in eight lanes, which the compiler turns into vectors; always in the same order.
double sum(std::span<const float> values) {
  double lanes[8] = {};
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += static_cast<double>(values[i + lane]);
  for (; i < values.size(); ++i) lanes[0] += static_cast<double>(values[i]);
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

/// First index at which the running sum exceeds target; the last index with mass where rounding keeps it
/// below.
size_t invert(std::span<const float> p, double target) {
  constexpr size_t kStretch = 1024;
  size_t start = 0;
  double before = 0;
  while (start + kStretch < p.size()) {
    const double mass = sum(p.subspan(start, kStretch));
    if (before + mass > target) break;
    before += mass;
    start += kStretch;
  }
  size_t last = 0;
  for (size_t i = start; i < p.size(); ++i) {
    before += static_cast<double>(p[i]);
    if (p[i] > 0) last = i;
    if (before > target && p[i] > 0) return i;
  }
  if (last > 0) return last;
  return static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin());
}

/// Tokens in falling order of probability, ties by index, as far as top-k, top-p and min-p reach.
std::vector<int32_t> keep(std::span<const float> p, const rollout::SamplingOptions& options) {
  std::vector<int32_t> ids(p.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float pa = p[static_cast<size_t>(a)], pb = p[static_cast<size_t>(b)];
    return pa > pb || (pa == pb && a < b);
  };
  size_t limit = options.top_k > 0 ? std::min(ids.size(), static_cast<size_t>(options.top_k)) : ids.size();
  size_t sorted = 0;
  double mass = 0;
  // Sorted in growing stretches: the mass of real distributions lies in few tokens.
  for (size_t stretch = 64; sorted < limit; stretch *= 8) {
    const size_t end = std::min(limit, sorted + stretch);
    std::partial_sort(ids.begin() + static_cast<std::ptrdiff_t>(sorted),
                      ids.begin() + static_cast<std::ptrdiff_t>(end), ids.end(), likelier);
    for (; sorted < end; ++sorted) {
      const float value = p[static_cast<size_t>(ids[sorted])];
      const bool too_small = value < options.min_p * p[static_cast<size_t>(ids[0])];
      if (sorted > 0 && (too_small || (options.top_p < 1.0F && mass >= static_cast<double>(options.top_p)))) {
        ids.resize(sorted);
        return ids;
      }
      // Top-p counts the mass that top-k left, so it is scaled below.
      mass += static_cast<double>(value);
    }
  }
  ids.resize(limit);
  return ids;
}

Sampled filtered(std::span<const float> p, const rollout::SamplingOptions& options, double u) {
  rollout::SamplingOptions only_top_k = options;
  only_top_k.top_p = 1.0F;
  only_top_k.min_p = 0.0F;
  std::vector<float> scaled;
  std::span<const float> from = p;
  std::vector<int32_t> kept;
  if (options.top_k > 0 && options.top_p < 1.0F) {
    // The filters act one after the other: top-p on what top-k left, made a distribution again.
    kept = keep(p, only_top_k);
    double mass = 0;
    for (int32_t id : kept) mass += static_cast<double>(p[static_cast<size_t>(id)]);
    scaled.assign(p.size(), 0.0F);
    for (int32_t id : kept)
      scaled[static_cast<size_t>(id)] =
          static_cast<float>(static_cast<double>(p[static_cast<size_t>(id)]) / mass);
    from = scaled;
  }
  kept = keep(from, options);
  std::vector<float> weights;
  for (int32_t id : kept) weights.push_back(from[static_cast<size_t>(id)]);
  const double mass = sum(weights);
  const size_t place = invert(weights, u * mass);
  return {kept[place], static_cast<float>(std::log(static_cast<double>(weights[place]) / mass))};
}

}  // namespace

Sampled sample(std::span<const float> p, const rollout::SamplingOptions& options, double u) {
  if (options.temperature <= 0) {
    const auto token = static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    return {static_cast<int32_t>(token), std::log(p[token])};
  }
  if (!options.full_support()) return filtered(p, options, u);
  const size_t token = invert(p, u * sum(p));
  return {static_cast<int32_t>(token), std::log(p[token])};
}

}  // namespace nereus::generation
