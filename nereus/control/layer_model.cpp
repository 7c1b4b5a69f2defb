#include "nereus/control/layer_model.h"

#include <algorithm>

#include "nereus/plan/link.h"
#include "nereus/plan/model_size.h"

namespace nereus::control {
namespace {

constexpr double kBytes = 2;             // of an element
constexpr double kLinkEfficiency = 0.4;  // of the vendor's bandwidth, all-reduces of some ten megabytes
constexpr double kNormBytes = 14;        // an element: half precision to float, square, mean, scale and back
constexpr double kResidualBytes = 8;     // an element: two additions
constexpr double kScoreBytes = 40;       // an element: products, mask, softmax in float and back
constexpr double kLeastShare = 0.2;      // of a measured time that is not communication

size_t index_of(LayerKind kind) {
  return static_cast<size_t>(kind);
}

// The mean over the layers of a kind of those that were measured; 0 where none was.
double mean_of(const LayerProfile& profile, LayerKind kind, double LayerSeconds::*part) {
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    if (kind_of_layer(i, profile.layers.size()) != kind || profile.layers[i].*part <= 0) continue;
    sum += profile.layers[i].*part;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace

LayerKind kind_of_layer(size_t index, size_t count) {
  if (index == 0) return LayerKind::embedding;
  if (index + 1 == count) return LayerKind::head;
  return index + 2 == count ? LayerKind::norm : LayerKind::layer;
}

// What the device itself does in a forward pass, by the vendor's figures.
double LayerModel::device_seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const {
  const double s = static_cast<double>(sequence_), h = static_cast<double>(config_.hidden), t = tp;
  const double tokens = micro_batch * s, heads = static_cast<double>(config_.heads);
  switch (kind) {
    case LayerKind::embedding:
      return 2 * kBytes * tokens * h / device_.memory_bandwidth;
    case LayerKind::norm:
      return kNormBytes * tokens * h / device_.memory_bandwidth;
    case LayerKind::head:
      return 2 * tokens * h * static_cast<double>(config_.vocab) / t / device_.flops;
    case LayerKind::layer:
      break;
  }
  const double scores = micro_batch * s * s * heads;
  const double flops =
      2 * tokens * plan::layer_size(config_).products + 4 * scores * static_cast<double>(config_.head_dim);
  const double whole = (2 * kNormBytes + kResidualBytes) * tokens * h;
  return (flops / device_.flops + kScoreBytes * scores / device_.memory_bandwidth) / t +
         whole / device_.memory_bandwidth;
}

// All-reduces of [micro_batch, sequence, hidden]: two in a layer, each way; one after the embedding.
double LayerModel::link_seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const {
  const int sums = kind == LayerKind::layer ? 2 : kind == LayerKind::embedding ? 1 : 0;
  if (sums == 0 || tp == 1) return 0;
  const double bytes = kBytes * micro_batch * static_cast<double>(sequence_ * config_.hidden);
  return sums * plan::all_reduce({.bandwidth = kLinkEfficiency * device_.link_bandwidth}, tp, bytes);
}

Result<LayerModel> LayerModel::fit(const spec::ModelConfig& config, const cluster::DeviceKind& device,
                                   const LayerProfile& profile) {
  const auto expected = static_cast<size_t>(config.layers) + 3;
  if (profile.layers.size() != expected)
    return fail("profile: {} layers: expected {} (embedding, {} layers, norm, head)", profile.layers.size(),
                expected, config.layers);
  if (profile.sequence < 1 || profile.micro_batch < 1 || profile.tp < 1)
    return fail("profile: sequence {}, micro_batch {}, tp {}: expected at least 1", profile.sequence,
                profile.micro_batch, profile.tp);
  LayerModel model;
  model.config_ = config, model.device_ = device, model.sequence_ = profile.sequence;
  for (const LayerKind kind : {LayerKind::embedding, LayerKind::layer, LayerKind::norm, LayerKind::head}) {
    const double analytic = model.device_seconds(kind, profile.micro_batch, profile.tp);
    const double link = model.link_seconds(kind, profile.micro_batch, profile.tp);
    const double forward = mean_of(profile, kind, &LayerSeconds::forward);
    const double backward = mean_of(profile, kind, &LayerSeconds::backward);
    const double back_link = kind == LayerKind::layer ? link : 0;
    const size_t i = index_of(kind);
    model.forward_[i] = std::max(forward - link, kLeastShare * forward) / analytic;
    model.backward_[i] = std::max(backward - back_link, kLeastShare * backward) / analytic;
    model.update_[i] = mean_of(profile, kind, &LayerSeconds::update) * profile.tp;
  }
  if (model.forward_[index_of(LayerKind::layer)] <= 0) return fail("profile: no forward time of a layer");
  return model;
}

LayerSeconds LayerModel::seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const {
  const double analytic = device_seconds(kind, micro_batch, tp), link = link_seconds(kind, micro_batch, tp);
  const size_t i = index_of(kind);
  return {forward_[i] * analytic + link, backward_[i] * analytic + (kind == LayerKind::layer ? link : 0),
          update_[i] / tp};
}

plan::Calibration LayerModel::calibration(plan::Calibration base) const {
  const double s = static_cast<double>(sequence_);
  const double flops = 2 * s * plan::layer_size(config_).products +
                       2 * s * s * static_cast<double>(config_.heads * config_.head_dim);
  const LayerSeconds one = seconds(LayerKind::layer, 1, 1);
  base.infer_efficiency = base.prefill_efficiency = std::min(1.0, flops / device_.flops / one.forward);
  if (one.backward > 0)
    base.train_efficiency = std::min(1.0, 3 * flops / device_.flops / (one.forward + one.backward));
  return base;
}

}  // namespace nereus::control
