#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/job.h"
#include "nereus/plan/plan.h"
#include "nereus/simulator/availability.h"
#include "nereus/simulator/lengths.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// What is simulated: cluster, job, traces, and the constants of the world. docs/simulator.md lists the keys
/// of its file. A plain value.
struct Scenario {
  std::string name;
  int64_t steps = 200;
  double hours = 48;  ///< a policy that has not done its steps by then is stopped
  int64_t seeds = 1;
  std::vector<std::string> policies;
  cluster::Cluster cluster;  ///< all machines that there can be: of one kind, names differ
  plan::Job job;             ///< its lengths are those that a user would have written down beforehand
  std::vector<Reading> availability;  ///< number of machines
  std::vector<LengthStep> lengths;    ///< over the steps
  double length_variation = 1;        ///< where the curve does not say how many responses reach the limit
  WorldOptions world;

  int32_t machines() const { return static_cast<int32_t>(cluster.machines.size()); }
  const cluster::Machine& machine() const { return cluster.machines.front(); }
  LengthCurve curve() const {
    return {lengths, steps, static_cast<double>(job.lengths.max_response), length_variation};
  }
};

/// The cluster's machines with these numbers, in order.
cluster::Cluster some_machines(const cluster::Cluster& cluster, const std::vector<int32_t>& machines);
/// The numbers of the machines of `part`, by their names. REQUIRES: all are among the cluster's.
std::vector<int32_t> machine_numbers(const cluster::Cluster& cluster, const cluster::Cluster& part);
/// A plan for a part of the cluster's machines in the numbers of the whole.
plan::Plan in_whole(plan::Plan plan, const cluster::Cluster& cluster, const std::vector<int32_t>& machines);

}  // namespace nereus::simulator
