#include "nereus/control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "nereus/control/bottleneck.h"
#include "nereus/control/membership.h"

namespace nereus::control {
namespace {

constexpr double kUnexplainedRate = 0.2;
constexpr double kLeastUtilization = 0.3;
constexpr double kLeastSpared = 0.01;  // of the utilization: less is not worth a search
constexpr double kOverfull = 1.03;     // of its memory that a device would have taken which ran out of it
constexpr double kLeastWork = 0.2;     // of a stage's seconds
constexpr int64_t kNeverChanged = 1'000'000;

}  // namespace

Controller::Controller(plan::Job job, ControllerOptions options, TransitionCost cost)
    : job_(std::move(job)),
      options_(std::move(options)),
      cost_(std::move(cost)),
      calibrator_(options_.calibrator),
      availability_(options_.availability),
      memory_(options_.memory),
      since_change_(kNeverChanged) {}

Decision Controller::begin(const cluster::Cluster& cluster, double now, int64_t steps_left) {
  cluster_ = before_ = cluster;
  steps_left_ = steps_left;
  availability_.observe(now, cluster.devices());
  return record(search(Trigger::start, {.step = -1}));
}

Decision Controller::observe(const cluster::Cluster& cluster, const Observation& observation) {
  learn(observation);
  availability_.observe(observation.now, cluster.devices());
  const bool moved = adopt(cluster);
  Decision decision{.step = observation.step};
  if (!plan_) return record(search(Trigger::lost, std::move(decision)));

  ahead_ = price(1);
  decision.stay = decision.predicted = ahead_.total;
  const bool spared = spare_memory();
  const Trigger trigger = this->trigger(moved, spared);
  if (trigger != Trigger::none && !observation.stages.empty())
    decision.bound = usage(observation.stages).text;
  return record(decide(trigger, std::move(decision)));
}

Decision Controller::devices_changed(const cluster::Cluster& cluster, double now) {
  availability_.observe(now, cluster.devices());
  Decision decision{.step = log_.empty() ? -1 : log_.back().step};
  const bool moved = adopt(cluster);
  if (!plan_) return record(search(Trigger::lost, std::move(decision)));
  ahead_ = price(1);
  decision.stay = decision.predicted = ahead_.total;
  return record(decide(trigger(moved, false), std::move(decision)));
}

void Controller::rolled_back(const std::string& reason) {
  plan_.reset();
  if (previous_) {
    if (auto same = carry_over(*previous_, before_, cluster_)) plan_ = std::move(*same);
  }
  if (plan_) price_.emplace(cluster_, job_, *plan_);
  since_change_ = 0;
  if (!log_.empty()) log_.back().reason += fmt::format("; rolled back: {}", reason);
}

// What the step that has ended tells about the plan under which it ran.
void Controller::learn(const Observation& observation) {
  steps_left_ = observation.steps_left;
  since_change_ = std::min(since_change_ + 1, kNeverChanged);
  if (!log_.empty()) {
    Decision& last = log_.back();
    last.observed = observation.seconds;
    last.observed_transition = observation.transition;
    if (last.predicted > 0) outcome_.observe(last.predicted, observation.seconds, observation.transition);
  }
  if (!observation.lengths.responses.empty()) lengths_.observe(observation.lengths);
  if (!plan_) return;

  job_.lengths = observation.lengths.responses.empty() ? job_.lengths : observation.lengths;
  const plan::StepTime analytic = price_->at(job_, options_.calibration);
  for (const StageObservation& stage : observation.stages) {
    const plan::StageTime* time = analytic.find(stage.what);
    const plan::Placement* placement = plan_->find(stage.what);
    if (time == nullptr || placement == nullptr || stage.seconds() <= 0) continue;
    // Fetching and storing idle state is no part of what factors scale.
    const double work = time->total() - time->offload;
    const double measured = std::max(stage.seconds() - time->offload, kLeastWork * stage.seconds());
    if (work > 0)
      calibrator_.observe(operation_of(stage.what.stage), plan::regime_of(*placement), work, measured);
  }
  calibrator_.end_step();
  const double explained = price_->at(job_, calibration()).total;
  unexplained_ += kUnexplainedRate * (observation.seconds - explained - unexplained_);
  memory_.observe(static_cast<double>(job_.lengths.prompt) + job_.lengths.mean_response(),
                  observation.memory);
}

// Takes the devices present as given; whether they differ. A plan that lost a device is dropped.
bool Controller::adopt(const cluster::Cluster& cluster) {
  if (same_devices(cluster, cluster_)) return false;
  if (plan_) {
    auto same = carry_over(*plan_, cluster_, cluster);
    if (!same) {
      previous_ = std::exchange(plan_, std::nullopt);
      before_ = cluster_;
    } else {
      plan_ = std::move(*same);
    }
  }
  cluster_ = cluster;
  memory_.restart();  // devices have other numbers
  if (plan_) price_.emplace(cluster_, job_, *plan_);
  return true;
}

std::optional<MemoryFinding> Controller::memory() const {
  return memory_.fullest(load(options_.memory_steps, options_.length_deviations), options_.memory_steps);
}

// Where the bound of a peak passes the device's memory, plans are told to leave as much more free as was
// measured above the model. Whether they were.
bool Controller::spare_memory() {
  const auto finding = memory();
  if (!finding || finding->capacity <= 0 || finding->bound <= finding->capacity) return false;
  return spare_memory(finding->device, finding->bound / finding->capacity);
}

// What the model puts at its peak on `device` really takes `share` of the device's memory.
bool Controller::spare_memory(int32_t device, double share) {
  double modelled = 0;
  for (const plan::DevicePeak& peak : plan::peaks(cluster_, job_, *plan_))
    if (peak.device == device) modelled = peak.ledger.total();
  const double spared = std::max(kLeastUtilization, modelled / (share * cluster_.kind(device).memory));
  if (modelled <= 0 || spared > job_.utilization * (1 - kLeastSpared)) return false;
  job_.utilization = spared;
  return true;
}

Decision Controller::out_of_memory(int32_t device) {
  Decision decision{.step = log_.empty() ? -1 : log_.back().step};
  if (!plan_) return record(search(Trigger::lost, std::move(decision)));
  if (!spare_memory(device, kOverfull))
    job_.utilization = std::max(kLeastUtilization, job_.utilization / kOverfull);
  price_.emplace(cluster_, job_, *plan_);
  ahead_ = price(1);
  decision.stay = decision.predicted = ahead_.total;
  if (!plan::check_memory(cluster_, job_, *plan_))
    return record(search(Trigger::memory, std::move(decision)));
  decision.reason = fmt::format("stay: device {} was out of memory; the plan fits with {:.0f} % of it filled",
                                device, 100 * job_.utilization);
  return record(std::move(decision));
}

// The job's own lengths until a step has told otherwise.
plan::Lengths Controller::lengths(int64_t steps, double deviations) const {
  return lengths_.count() == 0 ? job_.lengths : lengths_.ahead(steps, deviations);
}

double Controller::load(int64_t steps, double deviations) const {
  const plan::Lengths lengths = this->lengths(steps, deviations);
  return static_cast<double>(lengths.prompt) + lengths.mean_response();
}

// The present plan, so many steps ahead.
plan::StepTime Controller::price(int64_t steps_ahead) {
  job_.lengths = lengths(steps_ahead, 0);
  plan::StepTime time = price_->at(job_, calibration());
  time.total = std::max(1e-9, time.total + unexplained_);
  return time;
}

// Seconds that stages have moved since the last search, over the step's.
double Controller::relative_change() const {
  if (at_search_.total <= 0) return 0;
  double moved = 0;
  for (const plan::StageTime& stage : ahead_.stages) {
    const plan::StageTime* then = at_search_.find(stage.what);
    moved += std::abs(stage.total() - (then == nullptr ? 0 : then->total()));
  }
  return moved / at_search_.total;
}

Trigger Controller::trigger(bool devices_changed, bool spared) {
  if (devices_changed) return Trigger::devices;
  if (spared && !plan::check_memory(cluster_, job_, *plan_)) return Trigger::memory;
  if (put_off_ && since_change_ >= options_.gate.cool_down) return Trigger::cool_down;
  if (relative_change() > options_.drift) return Trigger::drift;
  return Trigger::none;
}

Decision Controller::decide(Trigger trigger, Decision decision) {
  const bool urgent = trigger == Trigger::memory;
  if (trigger == Trigger::none) {
    decision.reason = "stay: nothing has changed since the last search";
    return decision;
  }
  if (!urgent && since_change_ < options_.gate.cool_down) {
    put_off_ = true;
    decision.reason =
        fmt::format("stay: {} of {} steps of cool-down are over", since_change_, options_.gate.cool_down);
    return decision;
  }
  return search(trigger, std::move(decision));
}

double Controller::deadline(plan::ModelStage what, const DeadlineOptions& options) const {
  const plan::StageTime* stage = ahead_.find(what);
  const plan::Placement* placement = plan_ ? plan_->find(what) : nullptr;
  if (stage == nullptr || placement == nullptr) return options.least;
  const double noise = calibrator_.noise(operation_of(what.stage), plan::regime_of(*placement));
  return deadline_seconds(stage->total(), noise, options);
}

std::optional<Overdue> Controller::overdue(plan::ModelStage what, double start,
                                           std::vector<RankProgress> ranks, double now,
                                           const DeadlineOptions& options) const {
  return control::overdue({what, start, deadline(what, options), std::move(ranks)}, now);
}

Result<std::vector<std::vector<size_t>>> Controller::spread(plan::ModelStage what,
                                                            const std::vector<int32_t>& tokens) const {
  const plan::Placement* placement = plan_ ? plan_->find(what) : nullptr;
  if (placement == nullptr) return fail("{}: the plan has no such stage", plan::to_string(what));
  return balance(tokens, placement->layout.dp, sequence_cost(*job_.find(what.role)));
}

double Controller::horizon(double step_seconds) const {
  return std::min(static_cast<double>(steps_left_),
                  availability_.seconds_to_change() / std::max(step_seconds, 1e-9));
}

Decision Controller::record(Decision decision) {
  log_.push_back(decision);
  return decision;
}

}  // namespace nereus::control
