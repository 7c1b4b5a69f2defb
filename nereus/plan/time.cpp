#include "nereus/plan/time.h"

#include <algorithm>

#include "nereus/plan/decode.h"
#include "nereus/plan/memory.h"
#include "nereus/plan/schedule.h"
#include "nereus/plan/stage_cost.h"

namespace nereus::plan {
namespace {

Bound bound_of(const Generation& g) {
  if (g.alone >= (g.decode + g.communication + g.overhead) / 2) return Bound::tail;
  if (g.communication > g.decode + g.prefill) return Bound::link;
  return g.memory > (g.decode + g.prefill) / 2 ? Bound::memory_bandwidth : Bound::compute;
}

StageTime generation_time(const Job& job, const Placement& placement, const Links& links,
                          double kv_pool_bytes, const Calibration& calibration,
                          const RegimeFactors& factors) {
  const int64_t concurrency = concurrency_of(job, placement, kv_pool_bytes);
  const Generation generation = generate(job, placement, links, concurrency, calibration);
  StageTime time{.what = placement.what};
  time.compute = generation.prefill * factors.factor(Operation::prefill) + generation.decode;
  time.communication = generation.communication * factors.factor(Operation::tensor_link);
  time.overhead = generation.overhead;
  time.bound = bound_of(generation);
  return time;
}

/// What a regime has shown, of the whole stage.
void calibrate(StageTime& time, const Placement& placement, const RegimeFactors& factors) {
  const Operation operation = placement.what.stage == Stage::generate ? Operation::decode
                              : placement.what.stage == Stage::infer  ? Operation::infer
                                                                      : Operation::train;
  const double factor = factors.factor(operation);
  for (double* part : {&time.compute, &time.communication, &time.bubble, &time.optimizer, &time.overhead})
    *part *= factor;
  time.overhead += factors.offset(operation);
}

/// Bytes for KV on the fullest device of each generation stage.
double kv_pool_of(const std::vector<DevicePeak>& moments, ModelStage what) {
  double least = -1;
  for (const DevicePeak& moment : moments) {
    if (moment.stage == what && (least < 0 || moment.kv_pool < least)) least = moment.kv_pool;
  }
  return std::max(0.0, least);
}

}  // namespace

std::string_view name_of(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "compute";
    case Bound::memory_bandwidth:
      return "memory bandwidth";
    case Bound::link:
      return "link";
    case Bound::tail:
      return "tail of lengths";
  }
  return "";
}

const StageTime* StepTime::find(ModelStage what) const {
  const auto found =
      std::find_if(stages.begin(), stages.end(), [&](const StageTime& s) { return s.what == what; });
  return found == stages.end() ? nullptr : &*found;
}

std::vector<std::pair<size_t, size_t>> weight_syncs(const std::vector<ModelStage>& stages) {
  std::vector<std::pair<size_t, size_t>> syncs;
  for (size_t from = 0; from < stages.size(); ++from) {
    if (stages[from].stage != Stage::train) continue;
    for (size_t to = 0; to < stages.size(); ++to) {
      if (stages[to].role == stages[from].role && stages[to].stage != Stage::train)
        syncs.emplace_back(from, to);
    }
  }
  return syncs;
}

double weight_sync_time(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                        const Calibration& calibration) {
  std::vector<ModelStage> stages;
  for (const Placement& placement : plan.placements) stages.push_back(placement.what);
  double seconds = 0;
  for (const auto& [from, to] : weight_syncs(stages))
    seconds += sync_time(cluster, job, plan.placements[from], plan.placements[to], calibration);
  return seconds;
}

double offload_time(const Placement& placement, double bytes, const Links& links) {
  if (!placement.leaves_when_idle) return 0;
  return (placement.what.stage == Stage::train ? 2 : 1) * bytes / links.slowest.host_bandwidth;
}

StageTime StageTimes::of(const Placement& placement, double kv_pool_bytes) {
  StageTime time = placement.what.stage == Stage::generate
                       ? generation_time(job_, placement, links_, kv_pool_bytes, calibration_, factors_)
                       : passes_.of(placement);
  calibrate(time, placement, factors_);
  return time;
}

StageTime stage_time(const Job& job, const Placement& placement, const Links& links, double kv_pool_bytes,
                     const Calibration& calibration) {
  const std::vector<RankSize> sizes = rank_sizes(*job.find(placement.what.role), placement.layout);
  const RegimeFactors factors(calibration, regime_of(placement));
  const Work sequence = work_of(job.lengths, 1);
  StageTime time = StageTimes(job, sequence, sizes, links, calibration, factors).of(placement, kv_pool_bytes);
  double most = 0;
  for (int32_t p = 0; p < placement.layout.pp; ++p)
    most = std::max(most, footprint(job, placement, p, sizes[static_cast<size_t>(p)]).idle.total());
  time.offload = offload_time(placement, most, links);
  return time;
}

StageTime stage_time(const cluster::Cluster& cluster, const Job& job, const Placement& placement,
                     double kv_pool_bytes, const Calibration& calibration) {
  return stage_time(job, placement, links_of(cluster, placement), kv_pool_bytes, calibration);
}

namespace {

StepTime predict(const Job& job, const Plan& plan, const std::vector<Links>& links, double weight_sync,
                 const Calibration& calibration, const std::vector<DevicePeak>& all) {
  const std::vector<uint32_t> conflicts = conflicts_of(plan);
  StepTime step;
  step.reward = job.reward_seconds;
  std::vector<Turn> turns;
  for (size_t i = 0; i < plan.placements.size(); ++i) {
    const Placement& placement = plan.placements[i];
    const double pool = placement.what.stage == Stage::generate ? kv_pool_of(all, placement.what) : 0;
    step.stages.push_back(stage_time(job, placement, links[i], pool, calibration));
    step.offload += step.stages.back().offload;
    turns.push_back({placement.what, step.stages.back().total(), conflicts[i]});
  }
  step.weight_sync = weight_sync;
  step.total = course(turns, job.reward_seconds, job.asynchronous) + step.weight_sync;
  return step;
}

}  // namespace

StepTime predict(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                 const Calibration& calibration) {
  return predict(job, plan, links_of(cluster, plan), weight_sync_time(cluster, job, plan, calibration),
                 calibration, distinct_moments(cluster, job, plan));
}

std::optional<StepTime> predict_if_fits(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                                        const std::vector<Links>& links, double weight_sync,
                                        const Calibration& calibration) {
  const std::vector<DevicePeak> all = distinct_moments(cluster, job, plan);
  if (!fits(cluster, job, plan, all)) return std::nullopt;
  return predict(job, plan, links, weight_sync, calibration, all);
}

}  // namespace nereus::plan
