#include "nereus/train/step_plan.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "nereus/rl/dapo.h"

namespace nereus::train {
namespace {

Status check_ids(const rollout::Tokens& ids, int64_t vocab, uint64_t prompt, const char* what) {
  for (int32_t id : ids)
    if (id < 0 || id >= vocab)
      return fail("prompt {}: token id {} in its {} is outside the vocabulary of {}", prompt, id, what,
                  vocab);
  return {};
}

Status check_group(const ScoredGroup& scored, size_t functions, int64_t vocab) {
  const rollout::Group& group = scored.group;
  if (group.prompt.empty()) return fail("prompt {} has no tokens", group.prompt_id);
  if (scored.rewards.size() != functions)
    return fail("prompt {}: {} reward functions where others have {}", group.prompt_id, scored.rewards.size(),
                functions);
  for (const auto& list : scored.rewards)
    if (list.size() != group.completions.size())
      return fail("prompt {}: {} rewards for {} completions", group.prompt_id, list.size(),
                  group.completions.size());
  if (auto status = check_ids(group.prompt, vocab, group.prompt_id, "prompt"); !status) return status;
  for (const rollout::Completion& c : group.completions) {
    if (c.tokens.empty() || c.tokens.size() != c.logprobs.size())
      return fail("prompt {}, completion {}: {} tokens with {} log-probs", group.prompt_id, c.index,
                  c.tokens.size(), c.logprobs.size());
    if (auto status = check_ids(c.tokens, vocab, group.prompt_id, "completion"); !status) return status;
  }
  return {};
}

const rollout::Completion& completion_of(const rollout::Group& group, const CompletionRef& ref) {
  return group.completions[static_cast<size_t>(ref.completion)];
}

}  // namespace

StepBatch::StepBatch(const std::vector<ScoredGroup>& groups, const TrainerOptions& options)
    : options_(options) {
  rewards_.resize(groups.front().rewards.size());
  token_offset_.push_back(0);
  for (const ScoredGroup& scored : groups) {
    offset_.push_back(token_offset_.size() - 1);
    groups_.push_back(&scored.group);
    sizes_.push_back(static_cast<int64_t>(scored.group.completions.size()));
    for (size_t k = 0; k < rewards_.size(); ++k)
      rewards_[k].insert(rewards_[k].end(), scored.rewards[k].begin(), scored.rewards[k].end());
    for (const rollout::Completion& c : scored.group.completions)
      token_offset_.push_back(token_offset_.back() + c.tokens.size());
  }
  if (options_.overlong_cache == 0) return;
  add_overlong_penalty(groups);
}

/// As one more reward function; absent where all others are, so that it alone never rewards a completion.
void StepBatch::add_overlong_penalty(const std::vector<ScoredGroup>& groups) {
  std::vector<rl::Reward> penalty;
  for (const ScoredGroup& scored : groups)
    for (const rollout::Completion& c : scored.group.completions) {
      const size_t place = penalty.size();
      const bool rewarded = std::any_of(rewards_.begin(), rewards_.end(),
                                        [&](const auto& list) { return list[place].has_value(); });
      const auto length = static_cast<int64_t>(c.tokens.size());
      penalty.push_back(rewarded ? rl::Reward(rl::overlong_penalty(length, options_.max_completion_length,
                                                                   options_.overlong_cache))
                                 : std::nullopt);
    }
  rewards_.push_back(std::move(penalty));
  if (!options_.advantages.reward_weights.empty()) options_.advantages.reward_weights.push_back(1.0);
}

Result<StepBatch> StepBatch::create(const std::vector<ScoredGroup>& groups, const TrainerOptions& options,
                                    int64_t vocab) {
  if (groups.empty()) return fail("a training step needs at least one group");
  for (const ScoredGroup& scored : groups)
    if (auto status = check_group(scored, groups.front().rewards.size(), vocab); !status) return pass(status);
  return StepBatch(groups, options);
}

bool StepBatch::token_wise() const {
  return options_.advantages.kind == rl::AdvantageKind::reinforce_pp ||
         options_.advantages.kind == rl::AdvantageKind::reinforce_pp_baseline;
}

Status StepBatch::compute_advantages(std::vector<float> kl) {
  rl::TokenDetail detail;
  if (token_wise()) {
    detail.kl = std::move(kl);
    for (size_t group = 0; group < groups_.size(); ++group)
      for (int64_t i = 0; i < sizes_[group]; ++i) {
        const CompletionRef ref{static_cast<int64_t>(group), i};
        const auto length = completion_of(*groups_[group], ref).tokens.size();
        detail.lengths.push_back(static_cast<int64_t>(length));
        detail.mask.insert(detail.mask.end(), length, active_tokens(ref) > 0 ? 1.0F : 0.0F);
      }
  }
  auto result = rl::advantages(rewards_, sizes_, options_.advantages, detail);
  if (!result) return pass(result);
  advantages_ = std::move(*result);
  return {};
}

size_t StepBatch::flat(const CompletionRef& ref) const {
  return offset_[static_cast<size_t>(ref.group)] + static_cast<size_t>(ref.completion);
}

int64_t StepBatch::active_tokens(const CompletionRef& ref) const {
  const rollout::Completion& c = completion_of(*groups_[static_cast<size_t>(ref.group)], ref);
  const bool masked = c.finish == rollout::Finish::cancelled ||
                      (options_.mask_truncated && c.finish == rollout::Finish::length);
  return masked ? 0 : static_cast<int64_t>(c.tokens.size());
}

bool StepBatch::trains(const CompletionRef& ref) const {
  if (active_tokens(ref) == 0) return false;
  const bool may_skip = options_.skip_zero_advantage && !token_wise() && options_.loss.beta == 0 &&
                        options_.loss.entropy_coef == 0 && !options_.entropy_control &&
                        options_.top_entropy_quantile >= 1.0 &&
                        rl::aggregation_of(options_.loss) != rl::Aggregation::bnpo;
  return !may_skip || advantages_.values[flat(ref)] != 0;
}

Minibatch StepBatch::minibatch(int64_t first_group, int64_t last_group) const {
  Minibatch result;
  result.counts.max_completion_length = static_cast<double>(options_.max_completion_length);
  std::vector<CompletionRef> trained;
  for (int64_t group = first_group; group < last_group; ++group)
    for (int64_t i = 0; i < sizes_[static_cast<size_t>(group)]; ++i) {
      const CompletionRef ref{group, i};
      rl::count_completion(result.counts, active_tokens(ref));
      if (trains(ref)) trained.push_back(ref);
    }
  for (PackedBatch& packed : pack(groups_, trained, {options_.micro_batch_tokens, options_.share_prompts}))
    result.micro_batches.push_back({std::move(packed), {}, {}, {}});
  result.counts.micro_batches = std::max<double>(static_cast<double>(result.micro_batches.size()), 1);
  return result;
}

std::vector<Minibatch> StepBatch::minibatches() const {
  const auto groups = static_cast<int64_t>(groups_.size());
  const int64_t parts = std::min(options_.minibatches, groups);
  std::vector<Minibatch> result;
  for (int64_t i = 0; i < parts; ++i)
    result.push_back(minibatch(groups * i / parts, groups * (i + 1) / parts));
  return result;
}

at::Tensor StepBatch::sequence_advantage(const PackedBatch& batch) const {
  at::Tensor result = at::empty({static_cast<int64_t>(batch.completions.size())}, at::kFloat);
  for (size_t i = 0; i < batch.completions.size(); ++i)
    result.data_ptr<float>()[i] = token_wise() ? 0.0F : advantages_.values[flat(batch.completions[i])];
  return result;
}

at::Tensor StepBatch::token_advantage(const PackedBatch& batch) const {
  if (!token_wise()) return {};
  at::Tensor result = at::empty({batch.tokens()}, at::kFloat);
  float* out = result.data_ptr<float>();
  for (const CompletionRef& ref : batch.completions) {
    const auto begin = advantages_.token_values.begin() + static_cast<std::ptrdiff_t>(first_token(ref));
    const auto length = completion_of(*groups_[static_cast<size_t>(ref.group)], ref).tokens.size();
    out = std::copy_n(begin, length, out);
  }
  return result;
}

}  // namespace nereus::train
