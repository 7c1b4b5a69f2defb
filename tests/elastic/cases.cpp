#include "tests/elastic/cases.h"

#include <algorithm>
#include <numeric>

namespace nereus::elastic::test {

spec::ModelConfig small_model(int64_t layers, int64_t heads, int64_t kv_heads, int64_t hidden,
                              int64_t vocab) {
  spec::ModelConfig config;
  config.vocab = vocab;
  config.hidden = hidden;
  config.intermediate = hidden + 3;
  config.layers = layers;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = 2;
  config.context = 64;
  return config;
}

spec::ModelConfig llama3_8b() {
  spec::ModelConfig config = small_model(32, 32, 8, 4096, 128256);
  config.intermediate = 14336;
  config.head_dim = 128;
  config.context = 8192;
  return config;
}

cluster::Cluster a100_cluster(int32_t machines, int32_t devices) {
  const cluster::DeviceKind kind{.name = "A100-80",
                                 .memory = 80e9,
                                 .flops = 312e12,
                                 .memory_bandwidth = 2e12,
                                 .link_bandwidth = 300e9,
                                 .host_bandwidth = 25e9,
                                 .context = 1.5e9};
  cluster::Cluster cluster;
  for (int32_t i = 0; i < machines; ++i) {
    cluster.machines.push_back({.name = "m" + std::to_string(i),
                                .kind = kind,
                                .devices = devices,
                                .host_memory = 1e12,
                                .network_bandwidth = 200e9});
  }
  return cluster;
}

cluster::Cluster small_cluster(const std::vector<int32_t>& devices, double memory, double host) {
  cluster::Cluster cluster = a100_cluster(static_cast<int32_t>(devices.size()));
  for (size_t i = 0; i < devices.size(); ++i) {
    cluster.machines[i].devices = devices[i];
    cluster.machines[i].host_memory = host;
    cluster.machines[i].kind.memory = memory;
    cluster.machines[i].kind.context = 0;
  }
  return cluster;
}

plan::Placement placement(plan::Role role, plan::Stage stage, plan::Layout layout, int32_t first_device) {
  plan::Placement result;
  result.what = {role, stage};
  result.layout = layout;
  result.devices.resize(static_cast<size_t>(layout.ranks()));
  std::iota(result.devices.begin(), result.devices.end(), first_device);
  return result;
}

cluster::Cluster random_cluster(Dice& dice) {
  std::vector<int32_t> devices(static_cast<size_t>(dice.from(1, 4)));
  for (int32_t& count : devices) count = dice.from(1, 4);
  return small_cluster(devices);
}

plan::Job random_job(Dice& dice) {
  const int32_t kv_heads = dice.from(1, 3);
  auto config =
      small_model(dice.from(1, 5), kv_heads * dice.from(1, 3), kv_heads, dice.from(3, 8), dice.from(3, 13));
  config.tied = dice.one_in(2);
  plan::Job job;
  const int32_t lora_rank = dice.one_in(3) ? 2 : 0;
  job.models.push_back({plan::Role::actor, config, lora_rank});
  if (dice.one_in(3)) job.models.push_back({plan::Role::critic, config, lora_rank});
  if (dice.one_in(3)) job.models.push_back({plan::Role::reference, config, 0});
  job.weight_bytes = dice.one_in(4) ? 4 : 2;
  return job;
}

plan::Plan random_plan(const cluster::Cluster& cluster, const plan::Job& job, Dice& dice) {
  std::vector<int32_t> devices(static_cast<size_t>(cluster.devices()));
  std::iota(devices.begin(), devices.end(), 0);
  const auto count = static_cast<int32_t>(devices.size());
  plan::Plan plan;
  plan::Layout layout;
  for (const plan::ModelStage what : plan::model_stages(job)) {
    // Often a layout that an earlier stage has, so that stages share.
    if (plan.placements.empty() || dice.one_in(2)) {
      std::shuffle(devices.begin(), devices.end(), dice.engine);
      layout.tp = dice.from(1, std::min(4, count));
      layout.pp = dice.from(1, std::min(4, count / layout.tp));
      layout.dp = dice.from(1, count / layout.tp / layout.pp);
    }
    plan::Placement placed = placement(what.role, what.stage, layout);
    std::copy_n(devices.begin(), layout.ranks(), placed.devices.begin());
    placed.zero = dice.below(4);
    placed.leaves_when_idle = dice.one_in(5);
    plan.placements.push_back(std::move(placed));
  }
  return plan;
}

std::string text(const plan::Plan& plan) {
  std::string result;
  for (const plan::Placement& placement : plan.placements) {
    result +=
        "\n" + plan::to_string(placement) + (placement.leaves_when_idle ? ", leaves; devices" : "; devices");
    for (const int32_t device : placement.devices) result += " " + std::to_string(device);
  }
  return result;
}

}  // namespace nereus::elastic::test
