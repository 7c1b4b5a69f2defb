#include "nereus/simulator/plan_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nereus/plan/memory.h"
#include "nereus/simulator/axis.h"

namespace nereus::simulator {

std::string OutOfMemory::what() const {
  return fmt::format("device {} out of memory in {}: {:.1f} GB asked, {:.1f} GB there", device,
                     to_string(stage), asked / 1e9, memory / 1e9);
}

PlanMemory::PlanMemory(const WorldOptions& world, const cluster::Cluster& cluster, const plan::Job& job,
                       const plan::Plan& plan)
    : world_(world), job_(job), plan_(plan) {
  for (const auto& machine : cluster.machines)
    for (int32_t i = 0; i < machine.devices; ++i)
      devices_.push_back({machine.kind.memory, machine.kind.context, {}});
  for (size_t p = 0; p < plan.placements.size(); ++p) {
    const auto& placement = plan.placements[p];
    for (int32_t rank = 0; rank < placement.layout.ranks(); ++rank) {
      const RankIndex at = index_of(placement.layout, rank);
      const auto device = static_cast<size_t>(placement.devices[static_cast<size_t>(rank)]);
      devices_[device].ranks.push_back({p, at.pipeline, at.data});
    }
    auto& row = shares_.emplace_back();
    for (size_t q = 0; q < plan.placements.size(); ++q)
      row.push_back(p != q && plan::shares_weights(placement, plan.placements[q]));
  }
}

MemoryReport PlanMemory::report(const std::vector<BatchSize>& batches,
                                const std::vector<double>& fragments) const {
  Memory memory;
  MemoryReport report{std::vector<double>(devices_.size(), 0), {}, {}};
  for (size_t p = 0; p < plan_.placements.size(); ++p) {
    const auto& placement = plan_.placements[p];
    auto& row = memory.emplace_back();
    for (int32_t stage = 0; stage < placement.layout.pp; ++stage)
      row.push_back(rank_memory(world_, job_, placement, stage, batches[p].largest, batches[p].in_step));
    if (placement.what.stage == plan::Stage::generate)
      report.kv_tokens.assign(static_cast<size_t>(placement.layout.dp), std::numeric_limits<double>::max());
  }
  for (size_t d = 0; d < devices_.size(); ++d) check(static_cast<int32_t>(d), memory, fragments[d], report);
  return report;
}

/// Bytes of weights that are there once although several stages count them: each but the first of those that
/// share.
double PlanMemory::shared(const Device& device, const Memory& memory, size_t running) const {
  double bytes = 0;
  for (size_t i = 0; i < device.ranks.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const auto &a = device.ranks[i], &b = device.ranks[j];
      if (!shares_[a.placement][b.placement]) continue;
      const auto &first = memory[a.placement][static_cast<size_t>(a.pipeline)],
                 &second = memory[b.placement][static_cast<size_t>(b.pipeline)];
      const bool both = (i == running || first.kept > 0) && (j == running || second.kept > 0);
      if (!both) continue;
      bytes += first.weights;
      break;
    }
  return bytes;
}

/// Generation takes what is left up to the job's utilization, as far as its sequences can fill it.
double PlanMemory::pool(const Device& device, const Rank& rank, double token, double used,
                        MemoryReport& report) const {
  const auto& layout = plan_.placements[rank.placement].layout;
  const double left = std::max(0.0, job_.utilization * device.memory - used);
  const double each = std::ceil(static_cast<double>(job_.samples()) / layout.dp);
  const auto longest = static_cast<double>(job_.lengths.prompt + job_.lengths.max_response);
  const double tokens = std::min(each * (longest + 2 * world_.kv_block), left / token);
  auto& least = report.kv_tokens[static_cast<size_t>(rank.replica)];
  least = std::min(least, tokens);
  // Without room for one sequence the engine does not start; what it asks for is more than there is.
  return tokens < longest ? device.memory : tokens * token;
}

void PlanMemory::check(int32_t index, const Memory& memory, double fragments, MemoryReport& report) const {
  const Device& device = devices_[static_cast<size_t>(index)];
  for (size_t i = 0; i < device.ranks.size(); ++i) {
    const Rank& rank = device.ranks[i];
    const auto& running = memory[rank.placement][static_cast<size_t>(rank.pipeline)];
    double bytes =
        device.context + world_.buffers_gb * 1e9 + running.resident + running.transient * (1 + fragments);
    for (size_t j = 0; j < device.ranks.size(); ++j)
      if (j != i)
        bytes += memory[device.ranks[j].placement][static_cast<size_t>(device.ranks[j].pipeline)].kept;
    bytes -= shared(device, memory, i);
    if (running.kv_token > 0) bytes += pool(device, rank, running.kv_token, bytes, report);
    auto& peak = report.peaks[static_cast<size_t>(index)];
    peak = std::max(peak, bytes);
    if (bytes <= device.memory) continue;
    const auto what = plan_.placements[rank.placement].what;
    const auto order = [&](plan::ModelStage stage) { return plan_.find(stage); };
    if (!report.full || order(what) < order(report.full->stage))
      report.full = OutOfMemory{index, what, bytes, device.memory};
  }
}

}  // namespace nereus::simulator
