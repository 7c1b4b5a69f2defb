#include "nereus/plan/report.h"

#include <algorithm>
#include <cmath>

namespace nereus::plan {

namespace {

constexpr int32_t kReasons = 400;  // of set-aside plans, where nothing fits

/// To a thousandth of the memory: what a reader sees.
bool alike(const DeviceGroup& group, const DevicePeak& peak, const cluster::DeviceKind& kind) {
  const auto near = [&](double a, double b) { return std::abs(a - b) <= 1e-3 * kind.memory; };
  const DevicePeak& of = group.peak;
  return group.kind == kind.name && near(group.memory, kind.memory) && of.stage == peak.stage &&
         near(of.kv_pool, peak.kv_pool) && std::ranges::equal(of.ledger.bytes, peak.ledger.bytes, near);
}

/// The fullest of a group speaks for it.
std::vector<DeviceGroup> group(const cluster::Cluster& cluster, const std::vector<DevicePeak>& peaks) {
  std::vector<DeviceGroup> groups;
  for (const auto& peak : peaks) {
    const auto& kind = cluster.kind(peak.device);
    const auto same = [&](const DeviceGroup& each) { return alike(each, peak, kind); };
    const auto found = std::ranges::find_if(groups, same);
    if (found == groups.end()) {
      groups.push_back({{peak.device}, peak, kind.name, kind.memory});
      continue;
    }
    found->devices.push_back(peak.device);
    if (peak.ledger.total() > found->peak.ledger.total()) found->peak = peak;
  }
  return groups;
}

/// Responses that the context of every model has room for after a prompt of mean length.
int64_t room_in_context(const Job& job) {
  int64_t room = INT64_MAX;
  for (const auto& model : job.models) room = std::min(room, model.config.context - job.lengths.prompt);
  return std::max<int64_t>(room, 0);
}

PlanFacts facts_of(const cluster::Cluster& cluster, const Job& job, Candidate candidate) {
  PlanFacts facts;
  facts.groups = group(cluster, peaks(cluster, job, candidate.plan));
  facts.longest_response = longest_response(cluster, job, candidate.plan);
  facts.longest_in_context = std::min(facts.longest_response, room_in_context(job));
  facts.candidate = std::move(candidate);
  return facts;
}

}  // namespace

Report make_report(const cluster::Cluster& cluster, const Job& job, const Calibration& calibration,
                   const SearchOptions& options, const Clock& clock, const Plan* current) {
  Report report{cluster, job, {}, {}, 0, true, 0};
  const Stopwatch watch(clock);
  auto result = search(cluster, job, calibration, options, current);
  report.search_seconds = watch.seconds();
  // Nobody asked for reasons, but they are all that there is to say.
  if (result.best.empty() && options.explain == 0) {
    SearchOptions explained = options;
    explained.explain = kReasons;
    result = search(cluster, job, calibration, explained, current);
  }
  for (auto& candidate : result.best) report.plans.push_back(facts_of(cluster, job, std::move(candidate)));
  report.rejected = std::move(result.rejected);
  report.considered = result.considered;
  report.complete = result.complete;
  return report;
}

}  // namespace nereus::plan
