#pragma once

#include <functional>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::simulator {

/// Seconds of a step under a plan, as the one who judges it finds them.
using Judge = std::function<double(const plan::Plan&)>;

/// The best plan in the way of OpenRLHF: generation, actor, critic, reference and reward on pools of their
/// own (the reference may share the actor's, the reward model the critic's); training by data parallelism
/// with ZeRO 1 to 3, generation with tensor parallelism within a machine. Every division of the devices over
/// the pools and every layout in them is priced by the planner's model; `judge` picks among the best of
/// these.
Result<plan::Plan> separate_pools_plan(const cluster::Cluster& cluster, const plan::Job& job,
                                       const Judge& judge);

/// The best plan in the way of verl: all models on all devices in turn, one layout for training and inference
/// (data, tensor and pipeline sizes, ZeRO) and one for generation; what is idle may leave the devices. Every
/// combination is priced by the planner's model; `judge` picks among the best of these.
Result<plan::Plan> shared_pool_plan(const cluster::Cluster& cluster, const plan::Job& job,
                                    const Judge& judge);

}  // namespace nereus::simulator
