#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "nereus/plan/options.h"

namespace nereus::plan {

/// Options of one model-stage, and the stages before it whose devices it shares (bits, as in Turn).
struct Choices {
  ModelStage what;
  std::vector<const Option*> options;
  uint32_t conflicts = 0;
};

/// One option of every model-stage, in the order of model_stages, and the predicted step.
struct Combination {
  std::vector<const Option*> options;
  double seconds = 0;
};

/// Seconds of weight syncs by source grid, whether the source shards its weights, target grid and role: kept
/// over the combinations of one search, as long as its grids live.
using SyncTimes = std::map<std::tuple<const Grid*, bool, const Grid*, Role>, double>;

/// What combinations are priced with.
struct Pricing {
  const cluster::Cluster& cluster;
  const Job& job;
  const Calibration& calibration;
  SyncTimes& syncs;
  std::function<bool()> expired;  ///< whether to stop with the best so far
};

/// Seconds in which what the training of `from` has changed reaches `to`, another stage of the model.
double sync_seconds(const Pricing& pricing, const Option& from, const Option& to);

struct Combinations {
  std::vector<Combination> best;  ///< fastest first
  bool complete = true;           ///< nothing was left out for want of time or room
};

/// The `top` fastest combinations that fit in memory and take less than `bound` seconds. Options of one model
/// are joined first, and those beaten in time and in the bytes of every class of devices dropped; then the
/// models are joined. Exact over the given choices as long as no model has more than some hundred unbeaten
/// joints: then the fastest of them are kept. Pure but for the clock.
Combinations combine(const Pricing& pricing, const std::vector<Choices>& choices, size_t top, double bound);

}  // namespace nereus::plan
