#include "nereus/control/plan_price.h"

#include <algorithm>

#include "nereus/plan/memory.h"
#include "nereus/plan/schedule.h"

namespace nereus::control {
namespace {

// Bytes for KV on the fullest device of a generation stage, 0 for others.
double kv_pool_of(const std::vector<plan::DevicePeak>& moments, plan::ModelStage what) {
  double least = -1;
  for (const plan::DevicePeak& moment : moments)
    if (moment.stage == what && (least < 0 || moment.kv_pool < least)) least = moment.kv_pool;
  return std::max(0.0, least);
}

}  // namespace

PlanPrice::PlanPrice(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan) {
  // Pools are no larger than what their sequences can fill: here those are the longest there may be.
  plan::Job longest = job;
  longest.lengths.responses = {static_cast<int32_t>(job.lengths.max_response)};
  const std::vector<plan::DevicePeak> moments = plan::moments(cluster, longest, plan);
  const std::vector<uint32_t> conflicts = plan::conflicts_of(plan);
  for (size_t i = 0; i < plan.placements.size(); ++i) {
    const plan::Placement& placement = plan.placements[i];
    const double pool =
        placement.what.stage == plan::Stage::generate ? kv_pool_of(moments, placement.what) : 0;
    stages_.push_back({placement, plan::links_of(cluster, placement), pool, conflicts[i]});
  }
  weight_sync_ = plan::predict(cluster, job, plan, {}).weight_sync;
}

plan::StepTime PlanPrice::at(const plan::Job& job, const plan::Calibration& calibration) const {
  plan::StepTime step{.stages = {}, .reward = job.reward_seconds, .weight_sync = weight_sync_};
  std::vector<plan::Turn> turns;
  for (const Stage& stage : stages_) {
    step.stages.push_back(plan::stage_time(job, stage.placement, stage.links, stage.kv_pool, calibration));
    step.offload += step.stages.back().offload;
    turns.push_back({stage.placement.what, step.stages.back().total(), stage.conflicts});
  }
  step.total = plan::course(turns, job.reward_seconds, job.asynchronous) + weight_sync_;
  return step;
}

}  // namespace nereus::control
