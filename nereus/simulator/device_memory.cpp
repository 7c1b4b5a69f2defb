#include "nereus/simulator/device_memory.h"

#include <algorithm>
#include <cmath>

namespace nereus::simulator {

namespace {

/// What the formulas of one rank are made of.
struct Rank {
  const WorldOptions& world;
  const plan::Job& job;
  const plan::Placement& placement;
  const plan::Model& model;
  ModelSize size;
  int32_t pipeline;

  double tp() const { return placement.layout.tp; }
  double dp() const { return placement.layout.dp; }
  bool last() const { return pipeline + 1 == placement.layout.pp; }
  double layers() const {
    return static_cast<double>(
        plan::layers_of_stage(model.config.layers, placement.layout.pp, pipeline).count());
  }
  /// Parameters; heads of keys that cannot be cut further are held whole, which few layouts meet.
  double parameters() const {
    const double head = last() && !(model.config.tied && placement.layout.pp == 1) ? size.head : 0;
    return (layers() * size.layer + (pipeline == 0 ? size.embedding : 0) + head) / tp();
  }
  double adapter() const { return layers() * size.adapter / tp(); }
};

double logits(const Rank& r, double tokens, double bytes) {
  if (!r.last() || r.model.scores()) return 0;
  const double chunk =
      r.job.logit_chunk > 0 ? std::min(tokens, static_cast<double>(r.job.logit_chunk)) : tokens;
  return chunk * static_cast<double>(r.model.config.vocab) / r.tp() * bytes;
}

/// Of one token and layer: inputs of products, of norms, of attention and of the gated MLP.
double saved_bytes(const Rank& r) {
  const auto& c = r.model.config;
  const double elements = 5.0 * static_cast<double>(c.hidden) + static_cast<double>(c.heads * c.head_dim) +
                          2.0 * static_cast<double>(c.kv_heads * c.head_dim) +
                          3.0 * static_cast<double>(c.intermediate);
  return elements * r.job.weight_bytes * r.world.activation_ratio / r.tp();
}

void add_train(const Rank& r, double largest, int64_t in_step, RankMemory& memory) {
  const double trained = r.model.lora_rank > 0 ? r.adapter() : r.parameters();
  const int32_t zero = r.placement.zero;
  const double masters = r.job.weight_bytes < 4 ? 4 : 0;
  memory.weights /= zero >= 3 ? r.dp() : 1;
  memory.resident = memory.weights + (masters + 8) * trained / (zero >= 1 ? r.dp() : 1);
  memory.transient = r.job.gradient_bytes * trained / (zero >= 2 ? r.dp() : 1);
  const auto in_flight = static_cast<double>(std::min<int64_t>(in_step, r.placement.layout.pp - r.pipeline));
  const double layer = largest * saved_bytes(r);
  const double input = largest * static_cast<double>(r.model.config.hidden) * r.job.weight_bytes / r.tp();
  memory.transient +=
      r.placement.recompute ? in_flight * r.layers() * input + layer : in_flight * r.layers() * layer;
  memory.transient += logits(r, largest, r.job.weight_bytes + 8);
  if (zero >= 3 && r.dp() > 1) {
    const double whole =
        std::max({r.size.layer, r.pipeline == 0 ? r.size.embedding : 0, r.last() ? r.size.head : 0});
    memory.transient += (r.size.layer + whole) / r.tp() * r.job.weight_bytes;
  }
}

void add_infer(const Rank& r, double largest, RankMemory& memory) {
  memory.transient = largest * saved_bytes(r) + logits(r, largest, r.job.weight_bytes + 4);
}

void add_generate(const Rank& r, RankMemory& memory) {
  const auto& c = r.model.config;
  const double width = 2.0 * static_cast<double>(c.intermediate) + 2.0 * static_cast<double>(c.hidden);
  memory.transient = r.world.batched_tokens * width / r.tp() * r.job.weight_bytes;
  const double heads = std::ceil(static_cast<double>(c.kv_heads) / r.tp());
  memory.kv_token = 2 * r.layers() * heads * static_cast<double>(c.head_dim) * r.job.weight_bytes;
}

}  // namespace

RankMemory rank_memory(const WorldOptions& world, const plan::Job& job, const plan::Placement& placement,
                       int32_t pipeline, double largest, int64_t in_step) {
  const plan::Model& model = *job.find(placement.what.role);
  const Rank rank{world, job, placement, model, size_of(model), pipeline};
  RankMemory memory;
  memory.weights = (rank.parameters() + rank.adapter()) * job.weight_bytes;
  memory.resident = memory.weights;
  if (placement.what.stage == plan::Stage::train) add_train(rank, largest, in_step, memory);
  if (placement.what.stage == plan::Stage::infer) add_infer(rank, largest, memory);
  if (placement.what.stage == plan::Stage::generate) add_generate(rank, memory);
  memory.kept = placement.leaves_when_idle ? 0 : memory.resident;
  return memory;
}

}  // namespace nereus::simulator
