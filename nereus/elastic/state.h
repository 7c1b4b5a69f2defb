#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nereus/elastic/place_sets.h"
#include "nereus/elastic/unit.h"

namespace nereus::elastic {

/// Kinds of state that lie on the same boxes, and so are cut and moved together. Gradients are not moved:
/// between two steps they hold nothing.
enum class LaneKind : uint8_t { weights, adapters, optimizer, gradients };
inline constexpr int32_t kLanes = 4;
std::string_view name_of(LaneKind lane);

/// What a placement holds in one lane.
struct LaneShape {
  LaneKind lane = LaneKind::weights;
  std::vector<Kind> kinds;
  std::vector<int32_t> tensors;  ///< of the whole model, ascending
  bool flat = false;             ///< sharded over the data axis
};
/// Those lanes of the placement that hold anything.
std::vector<LaneShape> lane_shapes(const plan::Job& job, const ModelTensors& model,
                                   const plan::Placement& placement);

/// A box of a tensor and the set of places that hold it: the pieces of many devices as one value.
struct Holding {
  Rect box;
  int32_t places = 0;  ///< a set of PlaceSets
};

/// All of a model that lies in one lane.
struct Lane {
  std::vector<Kind> kinds;
  int64_t element_bytes = 0;        ///< of all kinds together
  std::vector<int64_t> begin = {};  ///< into holdings, by tensor; one more than there are tensors
  std::vector<Holding> holdings;    ///< by tensor, then by box; equal boxes are one

  std::span<const Holding> of(int32_t tensor) const;
};

/// What the units of all placements of one model hold. Pieces with equal box on one place are one piece:
/// stages of equal layout share their weights.
struct ModelState {
  std::array<Lane, kLanes> lanes;
  Lane& operator[](LaneKind lane) { return lanes[static_cast<size_t>(lane)]; }
  const Lane& operator[](LaneKind lane) const { return lanes[static_cast<size_t>(lane)]; }
};

/// REQUIRES: check_placements(cluster, job, plan). Of the placements of `model.role` alone. Places: the
/// device, or its host where the placement leaves the device when idle.
ModelState state_of(const Places& places, const plan::Job& job, const ModelTensors& model,
                    const std::vector<plan::Placement>& placements, PlaceSets& sets);

/// The state without the places in `lost`.
ModelState without(const ModelState& state, int32_t lost, PlaceSets& sets);

}  // namespace nereus::elastic
