#include "nereus/config/reference.h"
#include "nereus/simulator/scenario_file.h"

namespace nereus::simulator {

namespace {

using config::above;
using config::at_least;
using config::between;
using Keys = config::KeyTable<ScenarioSections>;

void add_simulation(Keys& keys) {
  keys.add(
      "simulation.steps", [](auto& s) -> auto& { return s.scenario.steps; }, "Steps of the run.",
      between(1, 1'000'000));
  keys.add(
      "simulation.hours", [](auto& s) -> auto& { return s.scenario.hours; },
      "Hours after which a policy that has not done its steps is stopped.", above(0));
  keys.add(
      "simulation.seeds", [](auto& s) -> auto& { return s.scenario.seeds; },
      "Worlds that every policy is run in.", between(1, 1000));
  keys.add(
      "simulation.policies", [](auto& s) -> auto& { return s.scenario.policies; },
      "Policies to compare: fixed, elastic-data, elastic-data-tuned, separate-pools, shared-pool, adaptive, "
      "oracle.");
}

void add_availability(Keys& keys) {
  keys.add(
      "availability.file", [](auto& s) -> auto& { return s.availability_file; },
      "Trace of how many devices or nodes there are. Empty: all machines are always there, or [availability] "
      "generates one.");
  keys.choice(
      "availability.unit", [](auto& s) -> auto& { return s.availability_unit; },
      std::vector<std::pair<std::string, std::string>>{{"device", "device"}, {"machine", "machine"}},
      "What the trace counts: devices, of which whole machines are made, or machines.");
  keys.add(
      "availability.low", [](auto& s) -> auto& { return s.availability_low; },
      "Fewest machines of a generated trace. 0: all are always there.", at_least(0));
  keys.add(
      "availability.mean_hours", [](auto& s) -> auto& { return s.availability_mean_hours; },
      "Mean hours between changes of a generated trace.", at_least(0));
  keys.add(
      "availability.seed", [](auto& s) -> auto& { return s.availability_seed; }, "Seed of a generated trace.",
      at_least(0));
}

void add_growth(Keys& keys) {
  keys.add(
      "growth.file", [](auto& s) -> auto& { return s.growth_file; },
      "Metrics of a real run, one line a step, or a CSV of step, mean, clipped, prompt: the lengths over the "
      "run. "
      "Empty: a curve from growth.first to growth.last.");
  keys.add(
      "growth.scale", [](auto& s) -> auto& { return s.growth_scale; },
      "Lengths of the file are multiplied by this.", above(0));
  keys.add(
      "growth.first", [](auto& s) -> auto& { return s.growth.first; },
      "Mean response at the start, tokens. 0: that of [lengths].", at_least(0));
  keys.add(
      "growth.last", [](auto& s) -> auto& { return s.growth.last; },
      "Mean response at the end, tokens. 0: as at the start.", at_least(0));
  keys.add(
      "growth.midpoint", [](auto& s) -> auto& { return s.growth.midpoint; },
      "Share of the steps after which half of the growth is done.", between(0, 1));
  keys.add(
      "growth.width", [](auto& s) -> auto& { return s.growth.width; },
      "Share of the steps that the growth takes.", above(0));
}

/// A number of the world with its documentation.
template <class Access>
void world(Keys& keys, const std::string& name, Access access, std::string doc, config::Bounds bounds) {
  keys.add(
      "world." + name, [access](auto& s) -> auto& { return access(s.scenario.world); }, std::move(doc),
      bounds);
}

void add_compute(Keys& keys) {
  world(
      keys, "train_efficiency", [](auto& w) -> auto& { return w.train_efficiency; },
      "Share of peak FLOP/s of large products, training.", between(0.01, 1));
  world(
      keys, "infer_efficiency", [](auto& w) -> auto& { return w.infer_efficiency; },
      "The same of log-probs, scores and values.", between(0.01, 1));
  world(
      keys, "prefill_efficiency", [](auto& w) -> auto& { return w.prefill_efficiency; },
      "The same of prompts, and of products while decoding.", between(0.01, 1));
  world(
      keys, "attention_efficiency", [](auto& w) -> auto& { return w.attention_efficiency; },
      "The same of attention.", between(0.01, 1));
  world(
      keys, "half_seconds", [](auto& w) -> auto& { return w.half_seconds; },
      "A layer's products that would take so long at that efficiency take twice as long.", at_least(0));
  world(
      keys, "launch_seconds", [](auto& w) -> auto& { return w.launch_seconds; },
      "A layer's pass, whatever its size.", at_least(0));
  world(
      keys, "backward_ratio", [](auto& w) -> auto& { return w.backward_ratio; },
      "Backward pass over forward pass.", above(0));
  world(
      keys, "memory_efficiency", [](auto& w) -> auto& { return w.memory_efficiency; },
      "Share of memory bandwidth, decoding.", between(0.01, 1));
  world(
      keys, "decode_seconds", [](auto& w) -> auto& { return w.decode_seconds; }, "A decode iteration, fixed.",
      at_least(0));
  world(
      keys, "sequence_seconds", [](auto& w) -> auto& { return w.sequence_seconds; },
      "A decode iteration, for each sequence.", at_least(0));
  world(
      keys, "kv_block", [](auto& w) -> auto& { return w.kv_block; }, "Tokens of a block of KV.",
      between(1, 1024));
  world(
      keys, "batched_tokens", [](auto& w) -> auto& { return w.batched_tokens; },
      "Prompt tokens computed at once.", between(1, 1 << 20));
}

void add_links(Keys& keys) {
  world(
      keys, "link_efficiency", [](auto& w) -> auto& { return w.link_efficiency; },
      "Share of the bandwidth inside machines.", between(0.01, 1));
  world(
      keys, "network_efficiency", [](auto& w) -> auto& { return w.network_efficiency; },
      "Share of the bandwidth between machines.", between(0.01, 1));
  world(
      keys, "collective_seconds", [](auto& w) -> auto& { return w.collective_seconds; },
      "A collective of a few bytes inside a machine; it grows with the logarithm of the ranks.", at_least(0));
  world(
      keys, "network_collective_seconds", [](auto& w) -> auto& { return w.network_collective_seconds; },
      "The same between machines.", at_least(0));
  world(
      keys, "overlap", [](auto& w) -> auto& { return w.overlap; },
      "Share of the last backward pass under which gradients travel.", between(0, 1));
  world(
      keys, "overlap_slowdown", [](auto& w) -> auto& { return w.overlap_slowdown; }, "Of what overlaps.",
      at_least(1));
  world(
      keys, "optimizer_efficiency", [](auto& w) -> auto& { return w.optimizer_efficiency; },
      "Share of memory bandwidth of the optimizer.", between(0.01, 1));
  world(
      keys, "optimizer_seconds", [](auto& w) -> auto& { return w.optimizer_seconds; },
      "An optimizer step, fixed.", at_least(0));
}

void add_variety(Keys& keys) {
  world(
      keys, "device_spread", [](auto& w) -> auto& { return w.device_spread; },
      "Standard deviation of the logarithm of devices' slowness.", between(0, 1));
  world(
      keys, "noise", [](auto& w) -> auto& { return w.noise; }, "The same of every stage of every step.",
      between(0, 1));
  world(
      keys, "drift", [](auto& w) -> auto& { return w.drift; },
      "The same of the world's slow change in a step.", between(0, 1));
  world(
      keys, "prompt_variation", [](auto& w) -> auto& { return w.prompt_variation; },
      "Standard deviation of prompts over their mean.", between(0, 3));
  world(
      keys, "fragmentation", [](auto& w) -> auto& { return w.fragmentation; },
      "Share of what comes and goes in a stage that is lost between blocks, at most.", between(0, 1));
  world(
      keys, "buffers_gb", [](auto& w) -> auto& { return w.buffers_gb; },
      "Buffers of collectives on a device.", at_least(0));
  world(
      keys, "activation_ratio", [](auto& w) -> auto& { return w.activation_ratio; },
      "What is saved for the backward pass over its formula.", above(0));
}

void add_changes(Keys& keys) {
  world(
      keys, "group_seconds", [](auto& w) -> auto& { return w.group_seconds; },
      "Setting up the groups of a plan.", at_least(0));
  world(
      keys, "group_rank_seconds", [](auto& w) -> auto& { return w.group_rank_seconds; },
      "The same, for each rank.", at_least(0));
  world(
      keys, "verify_gb_s", [](auto& w) -> auto& { return w.verify_gb_s; },
      "Checksums of what was received, a device.", above(0));
  world(
      keys, "warm_up_seconds", [](auto& w) -> auto& { return w.warm_up_seconds; },
      "Allocator and kernels of a new layout.", at_least(0));
  world(
      keys, "first_step_slowdown", [](auto& w) -> auto& { return w.first_step_slowdown; },
      "Share by which the first step after a change is slower.", at_least(0));
  world(
      keys, "restart_seconds", [](auto& w) -> auto& { return w.restart_seconds; },
      "Stopping and starting a job that cannot change in place.", at_least(0));
  world(
      keys, "notice_seconds", [](auto& w) -> auto& { return w.notice_seconds; },
      "Between the notice that a machine leaves and its leaving.", at_least(0));
  world(
      keys, "boot_seconds", [](auto& w) -> auto& { return w.boot_seconds; },
      "Until a machine that came can be used.", at_least(0));
  world(
      keys, "failures_per_machine_day", [](auto& w) -> auto& { return w.failures_per_machine_day; },
      "Machines that fail without notice.", at_least(0));
  world(
      keys, "repair_seconds", [](auto& w) -> auto& { return w.repair_seconds; },
      "Until such a machine is back.", at_least(0));
  world(
      keys, "checkpoint_every", [](auto& w) -> auto& { return w.checkpoint_every; },
      "Steps between checkpoints.", at_least(1));
  world(
      keys, "storage_gb_s", [](auto& w) -> auto& { return w.storage_gb_s; },
      "Of the storage that checkpoints and models are read from, all readers together.", above(0));
}

Keys keys_of_scenario() {
  Keys keys;
  add_simulation(keys);
  add_availability(keys);
  add_growth(keys);
  add_compute(keys);
  add_links(keys);
  add_variety(keys);
  add_changes(keys);
  return keys;
}

}  // namespace

config::Schema<ScenarioSections> scenario_schema() {
  return {keys_of_scenario(), "docs/simulator.md"};
}

std::string scenario_reference() {
  return config::reference_tables(keys_of_scenario(), ScenarioSections{}, "`[{}]`");
}

}  // namespace nereus::simulator
