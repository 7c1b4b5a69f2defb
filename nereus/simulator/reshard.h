#pragma once

#include <cstdint>
#include <vector>

#include "nereus/plan/plan.h"
#include "nereus/simulator/kernel_time.h"
#include "nereus/simulator/network.h"

namespace nereus::simulator {

/// A part of a model that some devices hold whole: an interval of its depth, in parameters from the embedding
/// to the head, and a slice of the tensor axis.
struct Part {
  double begin = 0, end = 0;     ///< parameters
  double low = 0, high = 1;      ///< share of the tensor axis
  std::vector<int32_t> holders;  ///< devices
};

/// The parts into which a placement cuts a model, holders left out that are in `lost` (by device; may be
/// empty). `sharded`: each is cut again over the data axis, as ZeRO does with what it shards.
std::vector<Part> parts_of(const plan::Placement& placement, const ModelSize& size, int64_t layers,
                           bool sharded, const std::vector<bool>& lost);

/// What a change of layout sends.
struct Reshard {
  std::vector<Flow> flows;
  double moved = 0;   ///< bytes between devices, each entry into a machine and each copy inside counted
  double stored = 0;  ///< bytes from storage, because no device held them

  void add(Reshard other);
};

/// Gives every holder of `target` its part: what the device holds already stays, the rest comes from the
/// nearest holder of `source`, the least loaded of them; a part enters a machine once and is passed on inside
/// it. `bytes`: of a parameter.
Reshard reshard(const Links& links, const std::vector<Part>& source, const std::vector<Part>& target,
                double bytes);

}  // namespace nereus::simulator
