#pragma once

#include <cstdint>
#include <string>

#include "nereus/elastic/cut.h"
#include "nereus/elastic/loads.h"
#include "nereus/elastic/order.h"

namespace nereus::elastic {

/// What a transition costs beside its bytes. Seconds unless said otherwise.
struct CostOptions {
  double local_group = 0.005;  ///< to set up a process group within a machine
  double network_group = 0.1;  ///< the same between machines, a rendezvous
  bool groups_ahead = true;    ///< the new groups are set up while the old plan still runs
  double verify_share = 0.25;  ///< of a device's memory bandwidth, to check what it received
  double host_verify = 20e9;   ///< bytes per second that a host checks
  double warm_up = 0.2;        ///< by which the first step is slower: allocator, graphs, packed weights
};

/// Seconds and bytes of a transition, from the links that transition really uses.
struct Cost {
  double bound = 0;     ///< no order can be faster: the most that an endpoint has to send or receive one way
  double path = 0;      ///< the longest chain of nodes, which is what memory makes slow
  double transfer = 0;  ///< predicted: the larger of path and of bound with the latency of every message
  double group_setup = 0, verification = 0, warm_up = 0;
  double total = 0;  ///< pause: transfer, set-up that is not hidden, verification, warm-up

  int64_t needed_bytes = 0;   ///< sum over places of what they have to hold of new pieces
  int64_t moved_bytes = 0;    ///< over any link, fan-out inside machines included
  int64_t network_bytes = 0;  ///< of them between machines
  int64_t copied_bytes = 0;   ///< within one place
  int64_t staged_bytes = 0;
  int64_t messages = 0;
  std::string busiest;  ///< the endpoint that the bound comes from
};

/// How bytes travel.
struct Wire {
  int64_t message_bytes = int64_t{16} << 20;
  int32_t messages_in_flight = 4;
  double checkpoint_bandwidth = 2e9;  ///< bytes per second of one machine
};

/// Prices a schedule. `changed`: the placements that are new, whose groups have to be set up.
Cost cost_of(const cluster::Cluster& cluster, const Places& places, const Cut& cut, const Schedule& schedule,
             const std::vector<plan::Placement>& changed, const Wire& wire, const CostOptions& options);

/// Seconds that a schedule takes at least, whatever its order, as far as its routes tell: no more than
/// cost_of(...).total. `loads`: of the routes. `received`: bytes by place. REQUIRES: nothing is staged.
double least_seconds(const cluster::Cluster& cluster, const Places& places, const Loads& loads,
                     const std::vector<int64_t>& received, bool changed, const CostOptions& options);

/// Seconds to set up the tensor, pipeline and data groups of a placement; a device sets up its groups one
/// after the other.
double group_setup(const cluster::Cluster& cluster, const plan::Placement& placement,
                   const CostOptions& options);

}  // namespace nereus::elastic
