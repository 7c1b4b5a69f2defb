#include "nereus/plan/decode.h"

#include <algorithm>
#include <cmath>

#include "nereus/plan/model_size.h"

namespace nereus::plan {

DecodeCost::DecodeCost(const cluster::DeviceKind& kind, const Link& link, const Model& model,
                       const Layout& layout, double weight_bytes, const Calibration& calibration)
    : link_(link), tp_(layout.tp), pp_(layout.pp) {
  const spec::ModelConfig& config = model.config;
  const Layout whole{1, 1, layout.tp};
  const RankSize size = rank_size(model, whole, 0);
  const double bandwidth = kind.memory_bandwidth * calibration.memory_efficiency;
  const double flops = kind.flops * calibration.prefill_efficiency;
  layers_ = static_cast<double>(config.layers);
  weights_ = weight_bytes * (size.products + size.adapter) / bandwidth;
  kv_per_token_ = kv_bytes(config, whole, weight_bytes) / bandwidth;
  compute_per_token_ = 2 * (size.products + size.adapter) / flops;
  compute_per_kv_ = forward_flops(config, size, layout.tp, 0, 2, 0) / flops;
  message_bytes_ = weight_bytes * static_cast<double>(config.hidden);
  overhead_ = calibration.decode_overhead;
  overhead_per_sequence_ = calibration.sequence_overhead;
}

DecodeStep DecodeCost::step(double batch, double context) const {
  const double part = std::max(1.0, batch / pp_);
  DecodeStep step;
  step.memory = weights_ + part * context * kv_per_token_;
  step.compute = part * (compute_per_token_ + context * compute_per_kv_);
  step.communication = 2 * layers_ * all_reduce(link_, tp_, part * message_bytes_);
  if (pp_ > 1) step.communication += pp_ * (part * message_bytes_ / tp_ / link_.bandwidth + link_.latency);
  step.overhead = overhead_ + batch * overhead_per_sequence_;
  return step;
}

double decode_step(const cluster::DeviceKind& kind, const Link& link, const Model& model, int32_t tp,
                   double batch, double context, double weight_bytes, const Calibration& calibration) {
  return DecodeCost(kind, link, model, {1, 1, tp}, weight_bytes, calibration).step(batch, context).total();
}

}  // namespace nereus::plan
