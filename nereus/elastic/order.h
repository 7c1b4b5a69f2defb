#pragma once

#include <cstdint>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/elastic/cut.h"
#include "nereus/elastic/graph.h"
#include "nereus/elastic/route.h"

namespace nereus::elastic {

/// The hops of every bundle.
struct Routes {
  std::vector<Hop> hops;
  std::vector<int64_t> begin = {0};  ///< by bundle; one more than there are. Hop::parent counts from 0
};

/// Bytes by place (devices, then hosts).
struct Memory {
  std::vector<int64_t> used;      ///< at the start
  std::vector<int64_t> capacity;  ///< that may be used
};

struct OrderOptions {
  bool keep_old = true;   ///< pieces that go before the commit leave a copy on the host, so that the old plan
                          ///< can come back; where the host is full they leave none
  bool in_place = false;  ///< the new pieces are there already and are only filled
  int32_t window = 32;    ///< bundles that are looked at for one that needs no staging
};

struct Schedule {
  Graph graph;
  std::vector<int64_t> peak;   ///< by place, in the order of the nodes
  int64_t staged_bytes = 0;    ///< that went to hosts to make room or to be kept
  bool revocable = true;       ///< everything old can still be read until the commit
  int32_t staged_bundles = 0;  ///< whose old pieces had to leave before they could be sent
};

/// Puts allocations, transfers and releases in an order within every place's memory, and adds edges such that
/// every other order that respects the edges is, too: an allocation that needs room comes after the releases
/// that make it, and no later allocation of that place passes it. Where releases that are due do not suffice,
/// old pieces that still have to be sent are staged through the host. Old pieces go after the commit wherever
/// there is room until then. Errors: a host without room for what must be staged, by name.
/// REQUIRES: every place has room for what it holds in the end.
Result<Schedule> order(const Places& places, const PlaceSets& sets, const std::vector<ModelChange>& changes,
                       const Cut& cut, const Routes& routes, const Memory& memory,
                       const OrderOptions& options);

}  // namespace nereus::elastic
