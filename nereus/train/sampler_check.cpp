#include "nereus/train/sampler_check.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace nereus::train {
namespace {

/// Sums over the tokens of one packed batch that the sampler gave a log-prob for.
struct Difference {
  double tokens = 0, absolute = 0, largest = 0, ratio = 0;

  void add(const at::Tensor& trainer, const at::Tensor& sampler) {
    const at::Tensor known = sampler.isfinite();
    const at::Tensor difference = (trainer - sampler).masked_select(known).to(at::kDouble);
    if (difference.numel() == 0) return;
    tokens += static_cast<double>(difference.numel());
    absolute += difference.abs().sum().item<double>();
    largest = std::max(largest, difference.abs().max().item<double>());
    ratio += difference.exp().sum().item<double>();
  }
};

}  // namespace

void SamplerCheck::remember(const std::vector<model::Parameter>& parameters, int64_t version) {
  while (!policies_.empty() && (policies_.back().first >= version || policies_.size() >= keep_))
    policies_.back().first >= version ? policies_.pop_back() : policies_.pop_front();
  policies_.emplace_back(version, Reference(parameters));
}

Reference* SamplerCheck::sampler_of(const rollout::Completion& completion) {
  for (auto& [version, reference] : policies_) {
    const auto is_its = [&](int64_t of_token) { return of_token == version; };
    if (!completion.versions.empty() && std::ranges::all_of(completion.versions, is_its)) return &reference;
  }
  return nullptr;
}

std::map<std::string, double> SamplerCheck::compare(const std::vector<ScoredGroup>& groups,
                                                    const Policy& policy, const PackingOptions& packing) {
  for (const ScoredGroup& scored : groups)
    for (int64_t i = 0; i < std::ssize(scored.group.completions); ++i) {
      Reference* sampler = sampler_of(scored.group.completions[static_cast<size_t>(i)]);
      if (sampler == nullptr) continue;
      Difference sums;
      for (const PackedBatch& batch : pack({&scored.group}, {{0, i}}, packing))
        sums.add(sampler->score(policy, batch).logprob, batch.sampler_logprob);
      if (sums.tokens == 0) continue;
      return {{"sampling/same_policy/logp_difference/mean", sums.absolute / sums.tokens},
              {"sampling/same_policy/logp_difference/max", sums.largest},
              {"sampling/same_policy/importance_ratio/mean", sums.ratio / sums.tokens}};
    }
  return {};
}

}  // namespace nereus::train
