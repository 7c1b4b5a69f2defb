#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nereus/plan/memory.h"
#include "nereus/plan/time.h"

namespace nereus::plan {

/// A plan with what it costs.
struct Candidate {
  Plan plan;
  StepTime time;
};

/// Why a family of plans was set aside: "actor train tp 1 pp 1: 2.1 GB short on device 3: logits; chunk them
/// or take tp = 2".
struct Rejection {
  std::string what, reason;
  bool fits = false;  ///< it fits, but is slower or does not go together with the others
};

struct SearchOptions {
  int32_t top = 1;             ///< best plans to return
  int32_t beam = 16;           ///< combinations kept where shared and separate pools mix
  bool separate_pools = true;  ///< also plans whose model-stages have devices of their own
  double deadline = 1.0;       ///< seconds: the best so far is returned then
  int32_t explain = 0;         ///< rejections to keep
};

struct SearchResult {
  std::vector<Candidate> best;  ///< fastest first; empty where nothing fits
  std::vector<Rejection> rejected;
  int64_t considered = 0;  ///< placements that were priced
  bool complete =
      true;  ///< plans on one pool were searched exactly: neither the deadline nor a beam cut them
};

/// `current`, where given and where it fits, is among the candidates ("stay"). Pure; thread-safe.
SearchResult search(const cluster::Cluster& cluster, const Job& job, const Calibration& calibration,
                    const SearchOptions& options, const Plan* current = nullptr);

}  // namespace nereus::plan
