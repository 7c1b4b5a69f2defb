#pragma once

#include "nereus/plan/search.h"

namespace nereus::plan {

/// Sizes as the models' config.json files give them.
inline spec::ModelConfig llama_8b() {
  return {.vocab = 128256,
          .hidden = 4096,
          .intermediate = 14336,
          .layers = 32,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .context = 8192};
}

inline spec::ModelConfig llama_70b() {
  return {.vocab = 128256,
          .hidden = 8192,
          .intermediate = 28672,
          .layers = 80,
          .heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .context = 8192};
}

inline spec::ModelConfig qwen_7b() {
  return {.vocab = 152064,
          .hidden = 3584,
          .intermediate = 18944,
          .layers = 28,
          .heads = 28,
          .kv_heads = 4,
          .head_dim = 128,
          .context = 32768};
}

/// Tied head.
inline spec::ModelConfig qwen_half_b() {
  return {.vocab = 151936,
          .hidden = 896,
          .intermediate = 4864,
          .layers = 24,
          .heads = 14,
          .kv_heads = 2,
          .head_dim = 64,
          .context = 32768,
          .tied = true};
}

inline cluster::DeviceKind a100() {
  return {.name = "A100-80",
          .memory = 80e9,
          .flops = 312e12,
          .memory_bandwidth = 2.0e12,
          .link_bandwidth = 300e9,
          .host_bandwidth = 25e9};
}

inline cluster::DeviceKind h100() {
  return {.name = "H100",
          .memory = 80e9,
          .flops = 989e12,
          .memory_bandwidth = 3.35e12,
          .link_bandwidth = 450e9,
          .host_bandwidth = 50e9};
}

/// Machines of eight.
inline cluster::Cluster machines_of(const cluster::DeviceKind& kind, int32_t machines, int32_t devices = 8) {
  cluster::Cluster cluster;
  for (int32_t i = 0; i < machines; ++i)
    cluster.machines.push_back({"m" + std::to_string(i), kind, devices, 1e12, 200e9});
  return cluster;
}

/// Actor, critic, reference and reward of one size.
inline Job ppo(const spec::ModelConfig& config) {
  Job job;
  for (const Role role : {Role::actor, Role::critic, Role::reference, Role::reward})
    job.models.push_back({role, config, 0});
  job.lengths = lognormal_lengths(512, 1024, 0.8, 4096);
  return job;
}

/// The actor alone.
inline Job grpo(const spec::ModelConfig& config, int32_t lora_rank = 0) {
  Job job;
  job.models.push_back({Role::actor, config, lora_rank});
  job.lengths = lognormal_lengths(512, 1024, 0.8, 4096);
  return job;
}

/// A placement on the first devices.
inline Placement placed(ModelStage what, Layout layout, int32_t first = 0) {
  Placement placement{.what = what, .devices = {}, .layout = layout};
  for (int32_t i = 0; i < layout.ranks(); ++i) placement.devices.push_back(first + i);
  return placement;
}

}  // namespace nereus::plan
