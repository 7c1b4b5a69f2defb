#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/plan/job.h"

namespace nereus::plan {

/// Sizes of the data, pipeline and tensor axes. Rank r of a placement has the tensor index r % tp, the
/// pipeline index r / tp % pp and the data index r / (tp * pp), so that a tensor group is on neighbouring
/// devices.
struct Layout {
  int32_t dp = 1, pp = 1, tp = 1;

  int32_t ranks() const { return dp * pp * tp; }
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

/// Where and how one model-stage runs.
struct Placement {
  ModelStage what;
  std::vector<int32_t> devices;  ///< by rank; as many as layout.ranks()
  Layout layout;
  int32_t micro_batch = 1;  ///< sequences of one forward (and backward) pass of a replica
  bool recompute = false;   ///< train: activations of a layer are computed again in the backward pass
  int32_t zero =
      1;  ///< train: 0 nothing is sharded over dp, 1 optimizer state, 2 and gradients, 3 and weights
  bool leaves_when_idle = false;  ///< its state is in host memory while other stages run

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// All placements of a job, in the order of model_stages(job).
struct Plan {
  std::vector<Placement> placements;

  const Placement* find(ModelStage what) const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The plan with what does not matter to where state lies, micro-batches and recomputation, the same for all:
/// transitions and weight syncs of plans that are equal in it take the same.
Plan state_of(Plan plan);

/// Layers of pipeline stage `index`, [first, last): as even as they come, the earlier stages of an uneven
/// split have more.
struct LayerRange {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first; }
};
LayerRange layers_of_stage(int64_t layers, int32_t pp, int32_t index);

/// "actor train: dp 2, pp 2, tp 4 on 16 devices 0-15, micro-batch 2, recompute, zero 1".
std::string to_string(const Placement& placement);

}  // namespace nereus::plan
