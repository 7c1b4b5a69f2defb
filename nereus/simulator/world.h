#pragma once

#include <cstdint>

namespace nereus::simulator {

/// The constants of the simulated world. None of them is known to a policy (but the oracle): they differ from
/// the planner's on purpose. Seconds, GB (1e9 bytes), GB per second; "share" is of 1.
struct WorldOptions {
  // Compute. A pass over one layer that would take `half_seconds` at full efficiency runs at half of it.
  double train_efficiency = 0.50;      ///< of peak, large products
  double infer_efficiency = 0.56;      ///< log-probs, scores and values: forward only
  double prefill_efficiency = 0.58;    ///< of peak, prompts
  double attention_efficiency = 0.38;  ///< of peak, scores and their use
  double half_seconds = 6e-5;
  double backward_ratio = 2.05;  ///< backward over forward
  double launch_seconds = 4e-5;  ///< a layer's pass, whatever its size

  // Decoding.
  double memory_efficiency = 0.70;   ///< of memory bandwidth
  double decode_seconds = 4e-4;      ///< an iteration, fixed
  double sequence_seconds = 4e-6;    ///< an iteration, each sequence: sampling, scheduling
  double collective_seconds = 1e-5;  ///< an all-reduce of a few bytes within a machine
  int32_t kv_block = 16;             ///< tokens

  // Communication.
  double link_efficiency = 0.80;
  double network_efficiency = 0.85;
  double network_collective_seconds = 4e-5;  ///< as collective_seconds, between machines
  double overlap = 0.75;                     ///< share of a backward pass under which gradients may travel
  double overlap_slowdown = 1.2;             ///< of what overlaps
  double optimizer_efficiency = 0.6;         ///< of memory bandwidth
  double optimizer_seconds = 0.01;           ///< fixed: gradient norm, scheduler

  // Variety.
  double device_spread = 0.03;  ///< deviation of the logarithm of a device's slowness
  double noise = 0.02;          ///< the same of every stage of every step
  double drift = 0.002;         ///< the same of the world's slow change, a step
  double prompt_variation = 0.3;

  // Memory.
  double fragmentation = 0.05;     ///< of what comes and goes in a stage, at most
  double buffers_gb = 0.6;         ///< of collectives, a device
  double activation_ratio = 1.04;  ///< what is saved for the backward pass over its formula
  int32_t batched_tokens = 8192;   ///< of prompts computed at once

  // Changes of plan.
  double group_seconds = 0.3;         ///< setting up groups, fixed
  double group_rank_seconds = 0.001;  ///< and for each rank
  double verify_gb_s = 200;           ///< checksums, a device
  double warm_up_seconds = 1.5;       ///< allocator and kernels of a new layout
  double first_step_slowdown = 0.02;  ///< of the first step afterwards
  double restart_seconds = 60;        ///< stopping and starting a job that cannot change in place

  // Availability.
  double notice_seconds = 30;             ///< between the notice that a machine leaves and its leaving
  double boot_seconds = 60;               ///< until a machine that has come can be used
  double failures_per_machine_day = 0.0;  ///< without notice
  double repair_seconds = 1800;
  int32_t checkpoint_every = 10;  ///< steps; what only lost devices held is read from there
  double storage_gb_s = 20;       ///< of the storage, all readers together
};

}  // namespace nereus::simulator
