#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nereus/plan/job.h"

namespace nereus::control {

struct DeadlineOptions {
  double factor = 3;      ///< times the predicted seconds
  double deviations = 6;  ///< of the prediction, added on top
  double least = 60;      ///< seconds, however short the phase
};

/// Seconds that a phase may take. `deviation`: relative standard deviation of a single measurement.
double deadline_seconds(double predicted, double deviation, const DeadlineOptions& options = {});

/// How far one rank is in the phase that runs.
struct RankProgress {
  int32_t rank = 0, device = 0;
  bool finished = false;
  double done = 0;   ///< share of its work, 0 to 1
  double heard = 0;  ///< seconds since the run began, when it last reported progress
};

/// One phase in progress.
struct Phase {
  plan::ModelStage what;
  double start = 0;     ///< seconds since the run began
  double deadline = 0;  ///< seconds that it may take
  std::vector<RankProgress> ranks = {};
};

struct Overdue {
  std::vector<int32_t> stuck = {};  ///< ranks, the one not heard of for the longest time first
  std::string text = {};            ///< names phase, ranks and devices
};

/// Whether the phase has passed its deadline, and who holds it up. Ranks that still made progress within a
/// tenth of the deadline are slow, not stuck; they are named only where no rank is stuck.
std::optional<Overdue> overdue(const Phase& phase, double now);

}  // namespace nereus::control
