#pragma once

#include "nereus/plan/plan.h"
#include "nereus/simulator/network.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// How fast the ranks of one axis talk: bytes per second of the slowest hop while all groups of the axis talk
/// at once, and seconds of a message. An axis of one rank is infinitely fast.
struct Axis {
  int32_t ranks = 1;
  double rate = 0;
  double latency = 0;

  /// A ring over `bytes`, summed and shared out.
  double all_reduce(double bytes) const;
  /// Half of that: all-gather or reduce-scatter of `bytes` in all.
  double half(double bytes) const;
  /// One message to the neighbour.
  double send(double bytes) const;
};

struct Axes {
  Axis tensor, pipeline, data;
};
Axes axes_of(const Links& links, const WorldOptions& world, const plan::Placement& placement);

/// Position of a rank on the axes.
struct RankIndex {
  int32_t data = 0, pipeline = 0, tensor = 0;
};
inline RankIndex index_of(const plan::Layout& layout, int32_t rank) {
  return {rank / (layout.tp * layout.pp), rank / layout.tp % layout.pp, rank % layout.tp};
}
inline int32_t rank_of(const plan::Layout& layout, const RankIndex& at) {
  return (at.data * layout.pp + at.pipeline) * layout.tp + at.tensor;
}

}  // namespace nereus::simulator
