#include "nereus/plan/memory.h"

#include <algorithm>
#include <numeric>

#include "nereus/plan/work.h"

namespace nereus::plan {
namespace {

constexpr double kMasterBytes = 4, kMomentBytes = 8;
/// Of the buffer through which new weights reach the generation engine.
constexpr double kStagingBytes = 256e6;

/// The sizes that all formulas are made of, for one rank.
struct Rank {
  const Job& job;
  const Placement& placement;
  const Model& model;
  const RankSize& size;

  double tp() const { return placement.layout.tp; }
  double sharded(int32_t zero) const { return placement.zero >= zero ? placement.layout.dp : 1; }
  /// Tokens of a micro-batch of the longest sequences.
  double tokens() const { return static_cast<double>(placement.micro_batch * longest_sequence(job)); }
  double layers() const { return static_cast<double>(size.layers.count()); }
};

double trained_parameters(const Rank& r) {
  return r.model.lora_rank > 0 ? r.size.adapter : r.size.weights;
}

/// All weights, and the adapter where there is one.
double weight_bytes(const Rank& r) {
  return r.job.weight_bytes * (r.size.weights + r.size.adapter);
}

/// A layer's activations of a micro-batch; sequence parallelism divides all of them.
double layer_activations(const Rank& r) {
  return r.tokens() * activation_bytes(r.model.config, r.job.weight_bytes) / r.tp();
}

/// `each`: bytes of a logit, with all its copies.
double logit_bytes(const Rank& r, double each) {
  if (!r.size.last || r.model.scores()) return 0;
  const int64_t scored = r.placement.micro_batch * r.job.lengths.max_response;
  const int64_t tokens = r.job.logit_chunk > 0 ? std::min(r.job.logit_chunk, scored) : scored;
  return static_cast<double>(tokens * r.model.config.vocab) / r.tp() * each;
}

double saved_activations(const Rank& r, int32_t pipeline) {
  const int64_t in_flight =
      std::min<int64_t>(micro_batches(r.job, r.placement), r.placement.layout.pp - pipeline);
  if (!r.placement.recompute) return static_cast<double>(in_flight) * r.layers() * layer_activations(r);
  const double inputs = 2 * static_cast<double>(r.model.config.hidden) * r.job.weight_bytes / 2 / r.tp();
  return static_cast<double>(in_flight) * r.layers() * r.tokens() * inputs + layer_activations(r);
}

Footprint train_footprint(const Rank& r) {
  const double trained = trained_parameters(r);
  Footprint result;
  Ledger& idle = result.idle;
  idle[Component::weights] = weight_bytes(r) / r.sharded(3);
  // Weights in fp32 are their own masters.
  idle[Component::masters] = r.job.weight_bytes < 4 ? kMasterBytes * trained / r.sharded(1) : 0;
  idle[Component::moments] = kMomentBytes * trained / r.sharded(1);
  result.running = idle;
  result.running[Component::gradients] = r.job.gradient_bytes * trained / r.sharded(2);
  if (r.placement.zero >= 3 && r.placement.layout.dp > 1) {
    // One layer is at work while the next part, which may be the embedding or the head, arrives.
    result.running[Component::workspace] = r.job.weight_bytes * (r.size.largest_layer + r.size.largest_part);
  }
  return result;
}

Footprint infer_footprint(const Rank& r) {
  Footprint result;
  result.idle[Component::weights] = weight_bytes(r);
  result.running = result.idle;
  return result;
}

Footprint generate_footprint(const Rank& r) {
  Footprint result;
  result.idle[Component::weights] = weight_bytes(r);
  result.running = result.idle;
  const double mlp = r.job.weight_bytes * static_cast<double>(r.model.config.intermediate) / r.tp();
  const double logits = r.size.last ? 4 * static_cast<double>(r.model.config.vocab) / r.tp() : 0;
  result.running[Component::workspace] = static_cast<double>(kBatchedTokens) * std::max(mlp, logits);
  result.running[Component::staging] = std::min(kStagingBytes, result.idle[Component::weights]);
  result.running[Component::kv_pool] = in_blocks(static_cast<double>(longest_sequence(r.job))) *
                                       kv_bytes(r.model.config, r.placement.layout, r.job.weight_bytes);
  return result;
}

}  // namespace

std::string_view name_of(Component component) {
  constexpr std::array<std::string_view, kComponents> kNames{
      "weights", "gradients", "masters",   "moments", "activations",
      "logits",  "KV pool",   "workspace", "context", "staging"};
  return kNames[static_cast<size_t>(component)];
}

double Ledger::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

Ledger& Ledger::operator+=(const Ledger& other) {
  for (size_t i = 0; i < kComponents; ++i) bytes[i] += other.bytes[i];
  return *this;
}

Footprint footprint(const Job& job, const Placement& placement, int32_t pipeline) {
  return footprint(job, placement, pipeline,
                   rank_size(*job.find(placement.what.role), placement.layout, pipeline));
}

Footprint state_footprint(const Job& job, const Placement& placement, const RankSize& size) {
  const Rank rank{job, placement, *job.find(placement.what.role), size};
  switch (placement.what.stage) {
    case Stage::train:
      return train_footprint(rank);
    case Stage::infer:
      return infer_footprint(rank);
    case Stage::generate:
      return generate_footprint(rank);
  }
  return {};
}

PassBytes pass_bytes(const Job& job, const Placement& placement, int32_t pipeline, const RankSize& size) {
  const Rank rank{job, placement, *job.find(placement.what.role), size};
  switch (placement.what.stage) {
    case Stage::train:
      return {saved_activations(rank, pipeline), logit_bytes(rank, job.weight_bytes + 4 + 4)};
    case Stage::infer:
      return {layer_activations(rank), logit_bytes(rank, job.weight_bytes + 4)};
    case Stage::generate:
      return {};
  }
  return {};
}

Footprint footprint(const Job& job, const Placement& placement, int32_t pipeline, const RankSize& size) {
  Footprint result = state_footprint(job, placement, size);
  const PassBytes pass = pass_bytes(job, placement, pipeline, size);
  result.running[Component::activations] = pass.activations;
  result.running[Component::logits] = pass.logits;
  return result;
}

bool shares_weights(const Placement& a, const Placement& b) {
  const auto sharded = [](const Placement& p) { return p.what.stage == Stage::train && p.zero >= 3; };
  return a.what.role == b.what.role && a.layout == b.layout && !sharded(a) && !sharded(b) &&
         a.devices == b.devices;
}

}  // namespace nereus::plan
