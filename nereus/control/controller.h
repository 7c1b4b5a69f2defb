#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nereus/control/availability.h"
#include "nereus/control/balance.h"
#include "nereus/control/calibration.h"
#include "nereus/control/deadline.h"
#include "nereus/control/decision.h"
#include "nereus/control/gate.h"
#include "nereus/control/lengths.h"
#include "nereus/control/memory_watch.h"
#include "nereus/control/observation.h"
#include "nereus/control/outcome.h"
#include "nereus/control/plan_price.h"
#include "nereus/plan/search.h"

namespace nereus::control {

struct ControllerOptions {
  GateOptions gate = {};
  plan::SearchOptions search = {.top = 8};
  plan::Calibration calibration = {};  ///< before the job has measured anything
  CalibrationOptions calibrator = {};
  AvailabilityOptions availability = {};
  MarginOptions memory = {};
  double drift = 0.08;  ///< relative: how far stages must have moved since the last search to search again
  int64_t memory_steps = 5;  ///< a peak predicted over a device's memory within so many steps forces a change
  double length_deviations = 2;  ///< by which lengths are taken longer where memory is concerned
  int64_t length_steps = 10;     ///< plans are compared at the lengths expected half of this ahead
};

/// Decides, step by step, which plan the job shall run. Its owner reports each step and carries out what
/// comes back; nothing is moved here. Not thread-safe; one step costs well under a millisecond unless it
/// searches.
class Controller {
 public:
  Controller(plan::Job job, ControllerOptions options, TransitionCost cost);

  /// The plan to begin with: change, or wait where none fits.
  Decision begin(const cluster::Cluster& cluster, double now, int64_t steps_left);
  /// After each step. `cluster`: the devices present now. REQUIRES: begin() was called.
  Decision observe(const cluster::Cluster& cluster, const Observation& observation);
  /// When devices come or go within a step, or while the job waits for some.
  Decision devices_changed(const cluster::Cluster& cluster, double now);
  /// When a device ran out of memory: later plans leave more of it free. The present one goes on where it
  /// then fits (generation gets less KV memory, see `utilization`), else it is changed, whatever that costs.
  /// REQUIRES: the device is present.
  Decision out_of_memory(int32_t device);
  /// The change that was decided last failed and was rolled back: the plan before it goes on, and no other
  /// change is proposed until the cool-down is over.
  void rolled_back(const std::string& reason);

  const std::optional<plan::Plan>& plan() const { return plan_; }
  /// Every decision so far with what came of it.
  const std::vector<Decision>& log() const { return log_; }
  /// How often it searched, by what made it search.
  const std::array<int64_t, kTriggers>& searches() const { return searches_; }
  plan::Calibration calibration() const { return calibrator_.calibration(options_.calibration); }
  /// Share of the devices' memory that plans may fill: the job's, less what was measured above the model.
  double utilization() const { return job_.utilization; }
  /// Seconds that a stage of the coming step may take before its ranks are asked who is stuck.
  double deadline(plan::ModelStage what, const DeadlineOptions& options = {}) const;
  /// Whether a stage that began at `start` has passed its deadline, and which of its ranks hold it up.
  std::optional<Overdue> overdue(plan::ModelStage what, double start, std::vector<RankProgress> ranks,
                                 double now, const DeadlineOptions& options = {}) const;
  /// Sequences of so many tokens for each replica of a stage of the plan, so that all have as much to do: the
  /// planner's times hold for replicas that are balanced. Returns indices. Error: the plan has no such stage.
  Result<std::vector<std::vector<size_t>>> spread(plan::ModelStage what,
                                                  const std::vector<int32_t>& tokens) const;
  /// Of the device that is closest to its limit, in the coming steps.
  std::optional<MemoryFinding> memory() const;

 private:
  struct Priced {
    const plan::Candidate* candidate = nullptr;
    double seconds = 0, transition = 0, deviation = 0;

    /// Over so many steps, each taken for longer by `confidence` deviations.
    double total(double steps, double confidence) const;
  };

  void learn(const Observation& observation);
  bool adopt(const cluster::Cluster& cluster);
  bool spare_memory();
  bool spare_memory(int32_t device, double share);
  Trigger trigger(bool devices_changed, bool spared);
  Decision decide(Trigger trigger, Decision decision);
  Decision search(Trigger trigger, Decision decision);
  void add_scaled(plan::SearchResult& found) const;
  Decision keep(bool fits, const std::string& refusal, Decision decision) const;
  Decision force(const Priced& choice, Decision decision);
  Decision take(const Priced& choice, Decision decision);
  std::vector<Priced> ranked(const plan::SearchResult& found, const plan::StepTime* stay,
                             double horizon) const;
  std::optional<Priced> best(const std::vector<Priced>& ranked, double horizon, std::string& refusal) const;
  Verdict verdict(const Priced& choice, const plan::StepTime& stay, double horizon) const;
  double deviation(const plan::StepTime* stay, const plan::Plan& from,
                   const plan::Candidate& candidate) const;
  double relative_change() const;
  plan::StepTime price(int64_t steps_ahead);
  double horizon(double step_seconds) const;
  plan::Lengths lengths(int64_t steps, double deviations) const;
  double load(int64_t steps, double deviations) const;
  Decision record(Decision decision);

  plan::Job job_;
  ControllerOptions options_;
  TransitionCost cost_;

  cluster::Cluster cluster_, before_;  // before_: as it was when plan_ was last changed from previous_
  std::optional<plan::Plan> plan_, previous_;
  std::optional<PlanPrice> price_;   // of plan_
  std::optional<plan::Plan> taken_;  // the plan last changed to, with the devices it had then
  int32_t taken_devices_ = 0;        // of the cluster at that time
  Calibrator calibrator_;
  LengthForecast lengths_;
  Availability availability_;
  MemoryWatch memory_;
  Outcome outcome_;
  plan::StepTime ahead_;      // predicted for the coming step
  plan::StepTime at_search_;  // the same when it last searched
  bool put_off_ = false;      // a search found the cool-down in its way
  double unexplained_ = 0;    // seconds of a step that no stage accounts for
  int64_t steps_left_ = 0, since_change_;
  std::vector<Decision> log_;
  std::array<int64_t, kTriggers> searches_{};
};

}  // namespace nereus::control
