#pragma once

#include <cstdint>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

/// What the ranks of one axis talk over.
struct Link {
  double bandwidth = 0;  ///< bytes per second and one way, of one rank's share
  double latency = 0;    ///< seconds a message
};

/// The devices of a placement as its collectives see them: the slowest of them, and the links that each axis
/// really crosses. An axis that leaves a machine shares the machine's network with its other groups there.
struct Links {
  cluster::DeviceKind slowest;  ///< the least of every figure
  Link tensor, pipeline, data;
};
Links links_of(const cluster::Cluster& cluster, const Placement& placement);

/// Seconds of an all-reduce of `bytes` among `ranks`: the faster of a ring (2 (n-1)/n bytes/bandwidth,
/// 2 (n-1) messages) and of recursive doubling (log2 n times all bytes and one message; Thakur, Rabenseifner
/// and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005).
double all_reduce(const Link& link, int32_t ranks, double bytes);
/// The same of an all-gather or a reduce-scatter whose whole is `bytes`: half of a ring.
double all_gather(const Link& link, int32_t ranks, double bytes);

}  // namespace nereus::plan
