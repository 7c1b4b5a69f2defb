#pragma once

#include <cstdint>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/plan/plan.h"

namespace nereus::plan {

/// What the ranks of one axis talk over.
struct Link {
  double bandwidth = 0;  ///< bytes per second and one way, of one rank's share
  double latency = 0;    ///< seconds a message

  friend bool operator==(const Link&, const Link&) = default;
};

/// The devices of a placement as its collectives see them: the slowest of them, and the links that each axis
/// really crosses. An axis that leaves a machine shares the machine's network with its other groups there,
/// and each of its rings leaves by the host link of one device.
struct Links {
  cluster::DeviceKind slowest;  ///< the least of every figure
  Link tensor, pipeline, data;

  friend bool operator==(const Links&, const Links&) = default;
};
Links links_of(const cluster::Cluster& cluster, const Placement& placement);
/// Of every placement.
std::vector<Links> links_of(const cluster::Cluster& cluster, const Plan& plan);

/// Seconds of an all-gather, or of a reduce-scatter, whose whole is `bytes`: (n-1)/n bytes/bandwidth, as in a
/// ring, in log2 n messages (recursive doubling and halving; Thakur, Rabenseifner and Gropp, "Optimization of
/// Collective Communication Operations in MPICH", 2005).
double all_gather(const Link& link, int32_t ranks, double bytes);
/// Of an all-reduce: a reduce-scatter and an all-gather, or for small messages all bytes log2 n times.
double all_reduce(const Link& link, int32_t ranks, double bytes);

}  // namespace nereus::plan
