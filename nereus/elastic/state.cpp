#include "nereus/elastic/state.h"

#include <algorithm>

#include "nereus/elastic/flat_buffer.h"

namespace nereus::elastic {
namespace {

/// One box before boxes are gathered by tensor.
struct Entry {
  int32_t tensor = 0;
  Holding holding;
};

/// Adds the boxes of one placement to the entries of a lane.
class PlacementHoldings {
 public:
  PlacementHoldings(const Places& places, const ModelTensors& model, const plan::Placement& placement,
                    PlaceSets& sets)
      : places_(places), model_(model), placement_(placement), layout_(placement.layout), sets_(sets) {}

  void add(const LaneShape& lane, std::vector<Entry>& entries) {
    for (int32_t pipeline = 0; pipeline < layout_.pp; ++pipeline) {
      std::vector<int32_t> here;
      for (const int32_t tensor : lane.tensors) {
        if (model_.on_stage(tensor, layout_.pp, pipeline)) here.push_back(tensor);
      }
      for (int32_t t = 0; t < layout_.tp; ++t) {
        if (lane.flat) {
          add_flat(here, pipeline, t, entries);
        } else {
          add_whole(here, pipeline, t, entries);
        }
      }
    }
  }

 private:
  int32_t place(int32_t data, int32_t pipeline, int32_t t) const {
    const int32_t rank = (data * layout_.pp + pipeline) * layout_.tp + t;
    const int32_t device = placement_.devices[static_cast<size_t>(rank)];
    return placement_.leaves_when_idle ? places_.host(places_.machine(device)) : device;
  }

  void add_whole(const std::vector<int32_t>& here, int32_t pipeline, int32_t t, std::vector<Entry>& entries) {
    std::vector<int32_t> holders;
    for (int32_t data = 0; data < layout_.dp; ++data) holders.push_back(place(data, pipeline, t));
    const int32_t set = sets_.add(std::move(holders));
    for (const int32_t tensor : here) {
      const Rect box = model_.part(tensor, layout_.tp, t);
      if (!box.empty()) entries.push_back({tensor, {box, set}});
    }
  }

  void add_flat(const std::vector<int32_t>& here, int32_t pipeline, int32_t t, std::vector<Entry>& entries) {
    const FlatBuffer buffer(model_, here, layout_.tp, t);
    for (int32_t data = 0; data < layout_.dp; ++data) {
      const int32_t set = sets_.add({place(data, pipeline, t)});
      for (const FlatPart& part : buffer.shard(layout_.dp, data))
        entries.push_back({part.tensor, {part.box, set}});
    }
  }

  const Places& places_;
  const ModelTensors& model_;
  const plan::Placement& placement_;
  const plan::Layout& layout_;
  PlaceSets& sets_;
};

/// The holdings of the entries by tensor, in the order of the entries: of tensor t [begin[t], begin[t + 1]).
std::vector<Holding> by_tensor(const std::vector<Entry>& entries, std::vector<size_t>& begin) {
  for (const Entry& entry : entries) ++begin[static_cast<size_t>(entry.tensor) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<size_t> next = begin;
  std::vector<Holding> result(entries.size());
  for (const Entry& entry : entries) result[next[static_cast<size_t>(entry.tensor)]++] = entry.holding;
  return result;
}

/// Sorts by tensor and box, and unites the places of equal boxes.
void gather(const std::vector<Entry>& entries, int32_t tensors, Lane& lane, PlaceSets& sets) {
  std::vector<size_t> begin(static_cast<size_t>(tensors) + 1, 0);
  std::vector<Holding> all = by_tensor(entries, begin);
  lane.begin.push_back(0);
  for (size_t tensor = 0; tensor + 1 < begin.size(); ++tensor) {
    const std::span<Holding> here(all.data() + begin[tensor], begin[tensor + 1] - begin[tensor]);
    const auto before = [](const Holding& a, const Holding& b) { return a.box < b.box; };
    if (!std::is_sorted(here.begin(), here.end(), before)) std::stable_sort(here.begin(), here.end(), before);
    for (size_t i = 0; i < here.size(); ++i) {
      if (i > 0 && here[i - 1].box == here[i].box) {
        lane.holdings.back().places = sets.unite(lane.holdings.back().places, here[i].places);
      } else {
        lane.holdings.push_back(here[i]);
      }
    }
    lane.begin.push_back(static_cast<int64_t>(lane.holdings.size()));
  }
}

/// The lane of a placement, tensors left to be filled in.
std::vector<LaneShape> possible_lanes(const plan::Job& job, const plan::Placement& placement) {
  std::vector<LaneShape> lanes = {{LaneKind::weights, {Kind::weight}, {}, false},
                                  {LaneKind::adapters, {Kind::adapter}, {}, false}};
  if (placement.what.stage != plan::Stage::train) return lanes;
  std::vector<Kind> optimizer = {Kind::first_moment, Kind::second_moment};
  if (element_bytes(job, Kind::weight) < element_bytes(job, Kind::master))
    optimizer.insert(optimizer.begin(), Kind::master);
  lanes[0].flat = lanes[1].flat = placement.zero >= 3;
  lanes.push_back({LaneKind::optimizer, std::move(optimizer), {}, placement.zero >= 1});
  lanes.push_back({LaneKind::gradients, {Kind::gradient}, {}, placement.zero >= 2});
  return lanes;
}

bool in_lane(const ModelTensor& tensor, LaneKind lane) {
  switch (lane) {
    case LaneKind::weights:
      return !tensor.adapter;
    case LaneKind::adapters:
      return tensor.adapter;
    case LaneKind::optimizer:
    case LaneKind::gradients:
      return tensor.trained;
  }
  return false;
}

}  // namespace

std::string_view name_of(LaneKind lane) {
  switch (lane) {
    case LaneKind::weights:
      return "weights";
    case LaneKind::adapters:
      return "adapters";
    case LaneKind::optimizer:
      return "optimizer state";
    case LaneKind::gradients:
      return "gradients";
  }
  return "?";
}

std::vector<LaneShape> lane_shapes(const plan::Job& job, const ModelTensors& model,
                                   const plan::Placement& placement) {
  std::vector<LaneShape> lanes = possible_lanes(job, placement);
  for (LaneShape& lane : lanes) {
    for (int32_t tensor = 0; tensor < model.count(); ++tensor) {
      if (in_lane(model.tensors[static_cast<size_t>(tensor)], lane.lane)) lane.tensors.push_back(tensor);
    }
    if (lane.flat && placement.layout.dp == 1) lane.flat = false;
  }
  std::erase_if(lanes, [](const LaneShape& lane) { return lane.tensors.empty(); });
  return lanes;
}

std::span<const Holding> Lane::of(int32_t tensor) const {
  const auto index = static_cast<size_t>(tensor);
  if (index + 1 >= begin.size()) return {};
  return {holdings.data() + begin[index], static_cast<size_t>(begin[index + 1] - begin[index])};
}

ModelState state_of(const Places& places, const plan::Job& job, const ModelTensors& model,
                    const std::vector<plan::Placement>& placements, PlaceSets& sets) {
  std::array<std::vector<Entry>, kLanes> entries;
  ModelState state;
  for (const plan::Placement& placement : placements) {
    if (placement.what.role != model.role) continue;
    PlacementHoldings holdings(places, model, placement, sets);
    for (const LaneShape& lane : lane_shapes(job, model, placement)) {
      holdings.add(lane, entries[static_cast<size_t>(lane.lane)]);
      state[lane.lane].kinds = lane.kinds;
    }
  }
  for (size_t lane = 0; lane < entries.size(); ++lane) {
    Lane& target = state.lanes[lane];
    gather(entries[lane], model.count(), target, sets);
    for (const Kind kind : target.kinds) target.element_bytes += element_bytes(job, kind);
  }
  return state;
}

ModelState without(const ModelState& state, int32_t lost, PlaceSets& sets) {
  ModelState rest = state;
  for (Lane& lane : rest.lanes) {
    for (Holding& holding : lane.holdings) holding.places = sets.subtract(holding.places, lost);
  }
  return rest;
}

}  // namespace nereus::elastic
