#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "nereus/model/attention.h"
#include "nereus/ops/attention.h"
#include "nereus/rollout/types.h"

namespace nereus::train {

/// A completion to be scored or trained, by its place in the batch of groups.
struct CompletionRef {
  int64_t group = 0, completion = 0;
};

/// Completions of one forward pass as a forest of segments without padding: a prompt's segment, and after it
/// one segment for each of its completions, which sees the prompt's keys. The token that a row predicts is
/// the next one, so the last token of a completion needs no row.
struct PackedBatch {
  std::vector<CompletionRef> completions;
  at::Tensor ids, positions;  ///< [rows] int32
  std::shared_ptr<const ops::AttentionPlan> plan;
  // One entry a completion token, completion after completion:
  at::Tensor predicting;       ///< [tokens] int64: the row whose hidden state predicts the token
  at::Tensor targets;          ///< [tokens] int32: the token
  at::Tensor sequence;         ///< [tokens] int64: index in `completions`
  at::Tensor sampler_logprob;  ///< [tokens] as sampled
  int64_t rows() const { return ids.size(0); }
  int64_t tokens() const { return targets.size(0); }
};

struct PackingOptions {
  int64_t max_rows = 512;     ///< of a batch; one completion that is longer still gets a batch of its own
  bool share_prompts = true;  ///< else the prompt is repeated before each of its completions
};

/// Packs completions, which must be grouped by prompt, into batches in their order.
std::vector<PackedBatch> pack(const std::vector<const rollout::Group*>& groups,
                              const std::vector<CompletionRef>& completions, const PackingOptions& options);

/// Attention of a packed batch to itself.
class PackedAttention : public model::Attention {
 public:
  PackedAttention(const PackedBatch& batch, const ops::AttentionShape& shape, at::Tensor frequencies)
      : positions_(batch.positions), frequencies_(std::move(frequencies)), shape_(shape), plan_(batch.plan) {}
  at::Tensor attend(int64_t layer, at::Tensor qkv) override;

 private:
  at::Tensor positions_, frequencies_;
  ops::AttentionShape shape_;
  std::shared_ptr<const ops::AttentionPlan> plan_;
};

}  // namespace nereus::train
