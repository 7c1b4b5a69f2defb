#include "nereus/elastic/unit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nereus/elastic/flat_buffer.h"
#include "nereus/elastic/state.h"

namespace nereus::elastic {
namespace {

/// Tensors of one lane that one rank holds whole parts of, or a shard of their flat buffer.
void add_pieces(Unit& unit, const ModelTensors& model, const LaneShape& lane,
                const plan::Placement& placement, int32_t data, int32_t pipeline, int32_t tensor_index) {
  const plan::Layout& layout = placement.layout;
  const int32_t rank = (data * layout.pp + pipeline) * layout.tp + tensor_index;
  Piece piece;
  piece.device = placement.devices[static_cast<size_t>(rank)];
  piece.residency = placement.leaves_when_idle ? Residency::host : Residency::device;
  const auto add = [&](int32_t tensor, const Rect& box, Interval flat) {
    if (box.empty()) return;
    piece.tensor = tensor, piece.box = box, piece.flat = flat;
    for (const Kind kind : lane.kinds) {
      piece.kind = kind;
      unit.pieces.push_back(piece);
    }
  };
  std::vector<int32_t> here;
  for (const int32_t tensor : lane.tensors) {
    if (model.on_stage(tensor, layout.pp, pipeline)) here.push_back(tensor);
  }
  if (lane.flat) {
    const FlatBuffer buffer(model, std::move(here), layout.tp, tensor_index);
    for (const FlatPart& part : buffer.shard(layout.dp, data)) add(part.tensor, part.box, part.flat);
    return;
  }
  for (const int32_t tensor : here) add(tensor, model.part(tensor, layout.tp, tensor_index), {});
}

Unit unit_of(const plan::Job& job, const ModelTensors& model, const plan::Placement& placement,
             int32_t data) {
  Unit unit{.what = placement.what, .replica = data, .pieces = {}};
  for (const LaneShape& lane : lane_shapes(job, model, placement)) {
    for (int32_t p = 0; p < placement.layout.pp; ++p) {
      for (int32_t t = 0; t < placement.layout.tp; ++t) add_pieces(unit, model, lane, placement, data, p, t);
    }
  }
  return unit;
}

Status check_placement(const cluster::Cluster& cluster, const plan::Job& job,
                       const plan::Placement& placement) {
  const std::string text = plan::to_string(placement);
  if (job.find(placement.what.role) == nullptr) return fail("{}: the job has no such model", text);
  const plan::Layout& layout = placement.layout;
  if (layout.dp < 1 || layout.pp < 1 || layout.tp < 1 || placement.zero < 0 || placement.zero > 3)
    return fail("{}: expected axes of at least 1 and zero from 0 to 3", text);
  if (static_cast<int32_t>(placement.devices.size()) != layout.ranks())
    return fail("{}: {} devices for {} ranks", text, placement.devices.size(), layout.ranks());
  std::set<int32_t> seen;
  for (const int32_t device : placement.devices) {
    if (device < 0 || device >= cluster.devices())
      return fail("{}: device {}: the cluster has devices 0 to {}", text, device, cluster.devices() - 1);
    if (!seen.insert(device).second) return fail("{}: device {} has two ranks", text, device);
  }
  return {};
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::weight:
      return "weight";
    case Kind::gradient:
      return "gradient";
    case Kind::master:
      return "master weight";
    case Kind::first_moment:
      return "first moment";
    case Kind::second_moment:
      return "second moment";
    case Kind::adapter:
      return "adapter";
    case Kind::kv:
      return "KV";
  }
  return "?";
}

cluster::Box box_of(const Piece& piece, const spec::TensorSpec& tensor) {
  cluster::Box box{{piece.box.row_begin}, {piece.box.row_end}};
  if (tensor.shape.size() > 1) {
    box.begin.push_back(piece.box.col_begin);
    box.end.push_back(piece.box.col_end);
  }
  return box;
}

int64_t element_bytes(const plan::Job& job, Kind kind) {
  switch (kind) {
    case Kind::weight:
    case Kind::adapter:
    case Kind::kv:
      return std::llround(job.weight_bytes);
    case Kind::gradient:
      return std::llround(job.gradient_bytes);
    case Kind::master:
    case Kind::first_moment:
    case Kind::second_moment:
      return 4;
  }
  return 0;
}

Status check_placements(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan) {
  for (const auto& [bytes, name] :
       {std::pair{job.weight_bytes, "weight_bytes"}, std::pair{job.gradient_bytes, "gradient_bytes"}}) {
    if (bytes < 1 || bytes != std::floor(bytes))
      return fail("{} = {}: a transition moves whole bytes an element", name, bytes);
  }
  for (const plan::Placement& placement : plan.placements) {
    if (auto status = check_placement(cluster, job, placement); !status) return status;
  }
  return {};
}

Result<std::vector<Unit>> units_of(const cluster::Cluster& cluster, const plan::Job& job,
                                   const plan::Plan& plan) {
  if (auto status = check_placements(cluster, job, plan); !status) return pass(status);
  std::vector<Unit> units;
  for (const plan::Placement& placement : plan.placements) {
    const ModelTensors model = model_tensors(*job.find(placement.what.role));
    for (int32_t data = 0; data < placement.layout.dp; ++data)
      units.push_back(unit_of(job, model, placement, data));
  }
  return units;
}

}  // namespace nereus::elastic
