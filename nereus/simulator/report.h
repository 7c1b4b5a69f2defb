#pragma once

#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/simulator/outcome.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// One policy over all seeds.
struct PolicySummary {
  std::string policy;
  double step_latency = 0;     ///< seconds: mean over the seeds
  double least = 0, most = 0;  ///< over the seeds
  double step_seconds = 0;     ///< of steps alone
  double samples_per_second = 0;
  double waiting = 0, changing = 0, wasted = 0;  ///< shares of the elapsed time
  double changes = 0;                            ///< a run
  double change_seconds = 0;                     ///< each
  int64_t out_of_memory = 0;                     ///< of all seeds
  double steps = 0, hours = 0;                   ///< a run
  std::string note;                              ///< the first that a run has
};
PolicySummary summary_of(const std::vector<Outcome>& outcomes);

/// All that a simulation found.
struct SimulationReport {
  Scenario scenario;
  std::vector<std::vector<Outcome>> outcomes;     ///< [policies][seeds]
  std::vector<std::vector<DevicePoint>> devices;  ///< [seeds]
};

/// A table for a terminal: a line a policy, and ratios to the adaptive one where it ran.
std::string report_text(const SimulationReport& report);
/// Summaries, and each run with its changes. Seconds and bytes.
OrderedJson report_json(const SimulationReport& report);
/// One self-contained page: devices, plan changes, step latency and memory over time, of the first seed. No
/// script, nothing from the network.
std::string report_html(const SimulationReport& report);

}  // namespace nereus::simulator
