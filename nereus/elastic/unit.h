#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/cluster/box.h"
#include "nereus/cluster/cluster.h"
#include "nereus/elastic/model_tensors.h"
#include "nereus/plan/plan.h"

namespace nereus::elastic {

/// What a piece holds of its tensor.
enum class Kind : uint8_t { weight, gradient, master, first_moment, second_moment, adapter, kv };
inline constexpr int32_t kKinds = 7;
std::string_view name_of(Kind kind);

/// Where a piece waits between the turns of its stage.
enum class Residency : uint8_t { device, host };

/// A box of one logical tensor, in global coordinates, held by one device or, for it, by its host.
struct Piece {
  int32_t tensor = 0;  ///< index into model_tensors(...).tensors
  Kind kind = Kind::weight;
  Rect box;
  int32_t device = 0;
  Residency residency = Residency::device;
  /// Where state is sharded over the data axis: the elements of the rank's flat buffer (its part of every
  /// tensor, in the order of the table, row by row) that this box is. Else empty.
  Interval flat;
};
cluster::Box box_of(const Piece& piece, const spec::TensorSpec& tensor);

/// All pieces of one replica (one data index) of a model-stage.
struct Unit {
  plan::ModelStage what;
  int32_t replica = 0;
  std::vector<Piece> pieces;
};

/// Bytes of an element of the kind. Masters exist where weights have fewer than four bytes; they and the
/// moments have four.
int64_t element_bytes(const plan::Job& job, Kind kind);

/// Whether placements fit job and cluster as far as units need it: models that exist, ranks and devices of
/// equal number, devices of the cluster and none twice, whole bytes an element. The error names the
/// placement.
Status check_placements(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan);

/// Every unit of the plan, in the plan's order, then by replica. KV is not among the pieces: it is born and
/// dropped with the stage, and a transition accounts for it as a pool. Errors: as check_placements.
Result<std::vector<Unit>> units_of(const cluster::Cluster& cluster, const plan::Job& job,
                                   const plan::Plan& plan);

}  // namespace nereus::elastic
