#include "nereus/train/packing.h"

#include <ATen/ops/from_blob.h>

namespace nereus::train {
namespace {

template <class T>
at::Tensor to_tensor(std::vector<T>& values, at::ScalarType type) {
  return at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, type).clone();
}

/// Fills one batch, segment by segment.
class Builder {
 public:
  explicit Builder(bool share_prompts) : share_(share_prompts) {}

  /// Rows that adding the completion would cost.
  int64_t cost(const rollout::Group& group, const CompletionRef& ref) const {
    const auto& tokens = group.completions[static_cast<size_t>(ref.completion)].tokens;
    const bool has_prompt = share_ && group_ == ref.group;
    return static_cast<int64_t>(tokens.size()) - 1 +
           (has_prompt ? 0 : static_cast<int64_t>(group.prompt.size()));
  }

  void add(const rollout::Group& group, const CompletionRef& ref) {
    if (!share_ || group_ != ref.group) add_prompt(group, ref.group);
    const rollout::Completion& completion = group.completions[static_cast<size_t>(ref.completion)];
    const int64_t start = rows(), length = static_cast<int64_t>(completion.tokens.size());
    for (int64_t i = 0; i < length; ++i) {
      predicting_.push_back(i == 0 ? start_ + prompt_rows_ - 1 : start + i - 1);
      targets_.push_back(completion.tokens[static_cast<size_t>(i)]);
      sequence_.push_back(static_cast<int64_t>(batch_.completions.size()));
    }
    sampler_.insert(sampler_.end(), completion.logprobs.begin(), completion.logprobs.end());
    for (int64_t i = 0; i + 1 < length; ++i)
      push_row(completion.tokens[static_cast<size_t>(i)], prompt_rows_ + i);
    if (length > 1) {
      plan_->runs.push_back({start, length - 1, static_cast<int64_t>(plan_->spans.size()), 2});
      plan_->spans.push_back({start_, prompt_rows_});
      plan_->spans.push_back({start, length - 1});
    }
    batch_.completions.push_back(ref);
  }

  int64_t rows() const { return static_cast<int64_t>(ids_.size()); }

  PackedBatch finish() {
    batch_.ids = to_tensor(ids_, at::kInt);
    batch_.positions = to_tensor(positions_, at::kInt);
    batch_.predicting = to_tensor(predicting_, at::kLong);
    batch_.targets = to_tensor(targets_, at::kInt);
    batch_.sequence = to_tensor(sequence_, at::kLong);
    batch_.sampler_logprob = to_tensor(sampler_, at::kFloat);
    batch_.plan = plan_;
    return std::move(batch_);
  }

 private:
  void push_row(int32_t id, int64_t position) {
    ids_.push_back(id);
    positions_.push_back(static_cast<int32_t>(position));
  }

  void add_prompt(const rollout::Group& group, int64_t index) {
    group_ = index;
    start_ = rows();
    prompt_rows_ = static_cast<int64_t>(group.prompt.size());
    for (int64_t i = 0; i < prompt_rows_; ++i) push_row(group.prompt[static_cast<size_t>(i)], i);
    plan_->runs.push_back({start_, prompt_rows_, static_cast<int64_t>(plan_->spans.size()), 1});
    plan_->spans.push_back({start_, prompt_rows_});
  }

  bool share_;
  PackedBatch batch_;
  std::shared_ptr<ops::AttentionPlan> plan_ = std::make_shared<ops::AttentionPlan>();
  std::vector<int32_t> ids_, positions_, targets_;
  std::vector<int64_t> predicting_, sequence_;
  std::vector<float> sampler_;
  int64_t group_ = -1, start_ = 0, prompt_rows_ = 0;
};

}  // namespace

std::vector<PackedBatch> pack(const std::vector<const rollout::Group*>& groups,
                              const std::vector<CompletionRef>& completions, const PackingOptions& options) {
  std::vector<PackedBatch> batches;
  std::unique_ptr<Builder> builder;
  for (const CompletionRef& ref : completions) {
    const rollout::Group& group = *groups[static_cast<size_t>(ref.group)];
    if (builder && builder->rows() + builder->cost(group, ref) > options.max_rows) {
      batches.push_back(builder->finish());
      builder.reset();
    }
    if (!builder) builder = std::make_unique<Builder>(options.share_prompts);
    builder->add(group, ref);
  }
  if (builder) batches.push_back(builder->finish());
  return batches;
}

at::Tensor PackedAttention::attend(int64_t /*layer*/, at::Tensor qkv) {
  return ops::packed_attention(std::move(qkv), positions_, frequencies_, shape_, plan_);
}

}  // namespace nereus::train
