#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "nereus/simulator/scenario.h"

namespace nereus::simulator::test {

/// A model of about 1.1 billion parameters.
inline spec::ModelConfig small_model() {
  spec::ModelConfig config;
  config.vocab = 32000;
  config.hidden = 2048;
  config.intermediate = 5632;
  config.layers = 22;
  config.heads = 32;
  config.kv_heads = 4;
  config.head_dim = 64;
  config.context = 8192;
  return config;
}

inline plan::Job small_job(bool ppo = false) {
  plan::Job job;
  job.models.push_back({plan::Role::actor, small_model(), 0});
  if (ppo) {
    job.models.push_back({plan::Role::critic, small_model(), 0});
    job.models.push_back({plan::Role::reference, small_model(), 0});
  }
  job.prompts = 32;
  job.completions = 2;
  job.lengths = plan::lognormal_lengths(128, 300, 0.7, 1024);
  return job;
}

inline cluster::Cluster small_cluster(int32_t machines, int32_t devices, double memory = 80e9) {
  cluster::Cluster cluster;
  for (int32_t m = 0; m < machines; ++m)
    cluster.machines.push_back(
        {"m" + std::to_string(m), {"x", memory, 300e12, 2e12, 300e9, 25e9, 1e9}, devices, 1e12, 50e9});
  return cluster;
}

/// Every stage on all devices in one layout.
inline plan::Plan plan_of(const plan::Job& job, plan::Layout layout, int32_t micro_batch = 2) {
  plan::Plan plan;
  for (const auto what : plan::model_stages(job)) {
    plan::Placement placement{what, std::vector<int32_t>(static_cast<size_t>(layout.ranks())), layout};
    std::iota(placement.devices.begin(), placement.devices.end(), 0);
    placement.micro_batch = micro_batch;
    plan.placements.push_back(std::move(placement));
  }
  return plan;
}

inline Scenario small_scenario(int32_t machines = 4, int32_t devices = 4) {
  Scenario scenario;
  scenario.name = "small";
  scenario.steps = 40;
  scenario.hours = 10;
  scenario.cluster = small_cluster(machines, devices);
  scenario.job = small_job();
  scenario.availability = {{0, machines}};
  scenario.lengths = {{300, 0.01, 128}};
  return scenario;
}

}  // namespace nereus::simulator::test
