#pragma once

#include <cstdint>
#include <vector>

#include "nereus/plan/job.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

/// Parameters of one layer in products (attention and MLP) and in norms.
struct LayerSize {
  double products = 0, norms = 0;
};
LayerSize layer_size(const spec::ModelConfig& config);
/// All parameters of the model: layers, embedding, final norm, and its head (the vocabulary's unless tied, or
/// one value's).
double parameters(const Model& model);
/// Parameters of the adapter on all linear layers, a unit of rank.
double adapter_parameters_per_rank(const spec::ModelConfig& config);

/// What one rank holds of a model, in parameters.
struct RankSize {
  LayerRange layers;
  double weights = 0;                ///< all
  double products = 0;               ///< what a token is multiplied with: without embedding and norms
  double head = 0;                   ///< of the products: the head, tied or not
  double adapter = 0;                ///< of the LoRA adapter
  double largest_layer = 0;          ///< one layer
  double largest_part = 0;           ///< the largest of layer, embedding and head
  bool first = false, last = false;  ///< pipeline stages
};
/// REQUIRES: 0 <= pipeline < layout.pp. Of the fullest tensor rank where sizes do not divide.
RankSize rank_size(const Model& model, const Layout& layout, int32_t pipeline);
/// By pipeline index.
std::vector<RankSize> rank_sizes(const Model& model, const Layout& layout);

/// Bytes that a layer keeps of one token for its backward pass, with flash attention and SwiGLU:
/// 10 h + 2 a d + 4 k d + 6 f for two-byte elements.
double activation_bytes(const spec::ModelConfig& config, double element_bytes);
/// Bytes of KV of one token over all layers, on the fullest rank of (pp, tp).
double kv_bytes(const spec::ModelConfig& config, const Layout& layout, double element_bytes);
/// Bytes of KV of one token and one device of no layout: 2 L k d.
inline double kv_bytes(const spec::ModelConfig& config, double element_bytes) {
  return kv_bytes(config, Layout{}, element_bytes);
}

/// FLOPs of a forward pass on one rank: products of `tokens`, the head on the `scored` ones, and causal
/// attention, whose sum of squared lengths is `squares`.
double forward_flops(const spec::ModelConfig& config, const RankSize& size, int32_t tp, double tokens,
                     double squares, double scored);

}  // namespace nereus::plan
