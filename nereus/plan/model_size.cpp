#include "nereus/plan/model_size.h"

#include <algorithm>

namespace nereus::plan {
namespace {

int64_t parts(int64_t whole, int64_t ranks) {
  return (whole + ranks - 1) / ranks;
}

/// Widths of one tensor rank: what the axes of the model's matrices keep of their outputs or inputs.
struct Widths {
  double hidden, query, key, mlp, vocab;
};

Widths widths(const spec::ModelConfig& c, int32_t tp) {
  return {.hidden = static_cast<double>(c.hidden),
          .query = static_cast<double>(parts(c.heads, tp) * c.head_dim),
          .key = static_cast<double>(parts(c.kv_heads, tp) * c.head_dim),
          .mlp = static_cast<double>(parts(c.intermediate, tp)),
          .vocab = static_cast<double>(parts(c.vocab, tp))};
}

/// q and o, k and v, then gate, up and down.
double layer_products(const Widths& w) {
  return w.hidden * (2 * w.query + 2 * w.key + 3 * w.mlp);
}

/// A and B of seven linear layers: the side that the tensor axis does not divide is whole on every rank.
double layer_adapter(const Widths& w) {
  return 7 * w.hidden + 2 * w.query + 2 * w.key + 3 * w.mlp;
}

}  // namespace

LayerSize layer_size(const spec::ModelConfig& config) {
  return {layer_products(widths(config, 1)), 2 * static_cast<double>(config.hidden)};
}

double parameters(const Model& model) {
  return rank_size(model, {}, 0).weights;
}

double adapter_parameters_per_rank(const spec::ModelConfig& config) {
  return static_cast<double>(config.layers) * layer_adapter(widths(config, 1));
}

RankSize rank_size(const Model& model, const Layout& layout, int32_t pipeline) {
  const Widths w = widths(model.config, layout.tp);
  RankSize size{.layers = layers_of_stage(model.config.layers, layout.pp, pipeline),
                .first = pipeline == 0,
                .last = pipeline == layout.pp - 1};
  const double layers = static_cast<double>(size.layers.count());
  size.largest_layer = layer_products(w) + 2 * w.hidden;
  size.adapter = layers * model.lora_rank * layer_adapter(w);
  size.head = !size.last ? 0 : model.scores() ? w.hidden : w.hidden * w.vocab;
  size.products = layers * layer_products(w) + size.head;
  size.weights = layers * size.largest_layer;
  if (size.first) size.weights += w.hidden * w.vocab;
  const bool head_is_embedding = model.config.tied && size.first && !model.scores();
  if (size.last) size.weights += w.hidden + (head_is_embedding ? 0 : size.head);
  size.largest_part = std::max({size.largest_layer, size.first ? w.hidden * w.vocab : 0, size.head});
  return size;
}

std::vector<RankSize> rank_sizes(const Model& model, const Layout& layout) {
  std::vector<RankSize> sizes;
  for (int32_t p = 0; p < layout.pp; ++p) sizes.push_back(rank_size(model, layout, p));
  return sizes;
}

double activation_bytes(const spec::ModelConfig& c, double element_bytes) {
  const Widths w = widths(c, 1);
  return element_bytes / 2 * (10 * w.hidden + 2 * w.query + 4 * w.key + 6 * w.mlp);
}

double kv_bytes(const spec::ModelConfig& config, const Layout& layout, double element_bytes) {
  const LayerRange fullest = layers_of_stage(config.layers, layout.pp, 0);
  return 2 * static_cast<double>(fullest.count()) * widths(config, layout.tp).key * element_bytes;
}

double forward_flops(const spec::ModelConfig& config, const RankSize& size, int32_t tp, double tokens,
                     double squares, double scored) {
  const double layers = static_cast<double>(size.layers.count());
  return 2 * (size.products - size.head) * tokens + 2 * size.head * scored +
         2 * squares * widths(config, tp).query * layers;
}

}  // namespace nereus::plan
