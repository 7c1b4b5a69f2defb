#include "nereus/simulator/kernel_time.h"

#include <algorithm>
#include <cmath>

namespace nereus::simulator {

ModelSize size_of(const plan::Model& model) {
  const auto& c = model.config;
  const auto h = static_cast<double>(c.hidden), f = static_cast<double>(c.intermediate);
  const auto q = static_cast<double>(c.heads * c.head_dim), kv = static_cast<double>(c.kv_heads * c.head_dim);
  const auto vocabulary = static_cast<double>(c.vocab);
  const bool scores = model.role == plan::Role::critic || model.role == plan::Role::reward;
  ModelSize size;
  size.products = 2 * h * q + 2 * h * kv + 3 * h * f;
  size.layer = size.products + 2 * h;
  size.embedding = vocabulary * h;
  size.head = scores ? h : vocabulary * h;
  // A and B of q, o, k, v, gate, up and down.
  size.adapter = model.lora_rank * (2 * (h + q) + 2 * (h + kv) + 3 * (h + f));
  return size;
}

KernelTime::KernelTime(const WorldOptions& world, const cluster::DeviceKind& kind, const plan::Model& model,
                       int32_t tp, double weight_bytes)
    : world_(world), kind_(kind), size_(size_of(model)), tp_(tp), weight_bytes_(weight_bytes) {
  const auto& c = model.config;
  const double heads = std::ceil(static_cast<double>(c.kv_heads) / tp_);
  kv_bytes_ = 2 * heads * static_cast<double>(c.head_dim) * weight_bytes;
  attention_width_ = static_cast<double>(c.heads * c.head_dim) / tp_;
}

double KernelTime::products(double flops, double efficiency) const {
  if (flops <= 0) return 0;
  const double ideal = flops / (kind_.flops * efficiency);
  return ideal * (1 + std::pow(world_.half_seconds / ideal, 0.7));
}

double KernelTime::layer(const Work& work, double efficiency) const {
  const double dense = products(2 * size_.products * work.tokens / tp_, efficiency);
  const double attention = 2 * work.squares * attention_width_ / (kind_.flops * world_.attention_efficiency);
  return dense + attention + world_.launch_seconds;
}

double KernelTime::head(double tokens, double efficiency) const {
  return products(2 * size_.head * tokens / tp_, efficiency);
}

double KernelTime::decode(double layers, bool last, double batch, double context) const {
  const double weights = layers * size_.products + (last ? size_.head : 0);
  const double bytes = weights * weight_bytes_ / tp_ + layers * kv_bytes_ * context;
  const double memory = bytes / (kind_.memory_bandwidth * world_.memory_efficiency);
  const double flops = 2 * weights * batch / tp_ + 4 * layers * attention_width_ * context;
  const double compute = flops / (kind_.flops * world_.prefill_efficiency);
  // The two overlap, but not wholly: a p-norm in place of the larger one.
  return std::sqrt(memory * memory + compute * compute);
}

}  // namespace nereus::simulator
