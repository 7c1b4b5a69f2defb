#pragma once

#include <random>
#include <string>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/job.h"
#include "nereus/plan/plan.h"

namespace nereus::elastic::test {

/// Llama-3-8B, or smaller models of its kind.
spec::ModelConfig llama3_8b();
spec::ModelConfig small_model(int64_t layers, int64_t heads, int64_t kv_heads, int64_t hidden, int64_t vocab);

/// `machines` of `devices` like A100-80 with 1 TB of host memory and 8 x 25 GB/s of network.
cluster::Cluster a100_cluster(int32_t machines, int32_t devices = 8);
/// Devices of `memory` bytes and no context.
cluster::Cluster small_cluster(const std::vector<int32_t>& devices, double memory = 1e9, double host = 1e9);

plan::Placement placement(plan::Role role, plan::Stage stage, plan::Layout layout, int32_t first_device = 0);

/// Random numbers in tests: a fixed generator and plain helpers.
struct Dice {
  std::mt19937 engine;

  explicit Dice(uint32_t seed) : engine(seed) {}
  int32_t below(int32_t bound) { return static_cast<int32_t>(engine() % static_cast<uint32_t>(bound)); }
  int32_t from(int32_t least, int32_t most) { return least + below(most - least + 1); }
  bool one_in(int32_t n) { return below(n) == 0; }
};

/// A small job on a small cluster, with plans drawn anew: every axis, ZeRO stage, uneven splits, tied
/// embeddings, LoRA, more ranks than heads or layers.
cluster::Cluster random_cluster(Dice& dice);
plan::Job random_job(Dice& dice);
plan::Plan random_plan(const cluster::Cluster& cluster, const plan::Job& job, Dice& dice);
/// For messages of failed tests.
std::string text(const plan::Plan& plan);

}  // namespace nereus::elastic::test
