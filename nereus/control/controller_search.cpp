#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "nereus/control/controller.h"
#include "nereus/plan/scale.h"

namespace nereus::control {
namespace {

constexpr double kRounding = 1 + 1e-9;  ///< of sums that are compared

double share(const plan::StepTime& time, plan::ModelStage what) {
  const plan::StageTime* stage = time.find(what);
  return stage == nullptr || time.total <= 0 ? 0 : stage->total() / time.total;
}

/// Prices of transitions from one plan, each asked for once. Not thread-safe.
class TransitionPrices {
 public:
  explicit TransitionPrices(TransitionPrice price) : price_(std::move(price)) {}

  /// `limit` goes down from plan to plan.
  const Result<double>& of(const plan::Plan& to, double limit) {
    plan::Plan state = plan::state_of(to);
    for (const auto& [plan, price] : known_)
      if (plan == state) return price;
    return known_.emplace_back(std::move(state), price_(to, limit)).second;
  }

 private:
  TransitionPrice price_;
  std::deque<std::pair<plan::Plan, Result<double>>> known_;
};

}  // namespace

double Controller::Priced::total(double steps, double confidence) const {
  return seconds * std::exp(confidence * deviation) * std::max(steps, 1.0) + transition;
}

// Relative standard deviation of a candidate's time over that of `from`, of which `stay` is the time where it
// can go on. What both owe to the same regime is no doubt between them.
double Controller::deviation(const plan::StepTime* stay, const plan::Plan& from,
                             const plan::Candidate& candidate) const {
  double variance = 0;
  auto add = [&](double weight, const plan::Placement& placement) {
    const Factor factor = calibrator_.factor(operation_of(placement.what.stage), plan::regime_of(placement));
    variance += std::pow(weight * factor.deviation, 2);
  };
  for (const plan::Placement& placement : candidate.plan.placements) {
    const double after = share(candidate.time, placement.what);
    const double now = stay == nullptr ? after : share(*stay, placement.what);
    const plan::Placement* present = from.find(placement.what);
    if (present != nullptr && plan::regime_of(*present) == plan::regime_of(placement)) {
      add(after - now, placement);
      continue;
    }
    add(after, placement);
    if (present != nullptr && stay != nullptr) add(now, *present);
  }
  return std::sqrt(variance);
}

// All but the present plan, the best first, as if transitions took no time. Layouts are taken for slower the
// less is known of them.
std::vector<Controller::Priced> Controller::ranked(const plan::SearchResult& found,
                                                   const plan::StepTime* stay, double horizon) const {
  const plan::Plan* from = plan_ ? &*plan_ : previous_ ? &*previous_ : nullptr;
  std::vector<Priced> result;
  for (const plan::Candidate& candidate : found.best) {
    if (plan_ && candidate.plan == *plan_) continue;
    Priced priced{&candidate, candidate.time.total + unexplained_, 0, 0};
    if (from != nullptr) priced.deviation = deviation(stay, *from, candidate);
    result.push_back(priced);
  }
  std::stable_sort(result.begin(), result.end(), [&](const Priced& x, const Priced& y) {
    return x.total(horizon, options_.gate.confidence) < y.total(horizon, options_.gate.confidence);
  });
  return result;
}

// The candidate that is cheapest over the horizon, its transition included; none where every transition is
// refused. Those that cannot be it any more are not priced.
std::optional<Controller::Priced> Controller::best(const std::vector<Priced>& ranked, double horizon,
                                                   std::string& refusal) const {
  std::optional<Priced> best;
  const plan::Plan* from = plan_ ? &*plan_ : previous_ ? &*previous_ : nullptr;
  const cluster::Cluster& before = plan_ ? cluster_ : before_;
  const double confidence = options_.gate.confidence;
  TransitionPrices prices(cost_(Origin{before, from, cluster_}));
  for (Priced priced : ranked) {
    double limit = std::numeric_limits<double>::infinity();
    if (best) limit = best->total(horizon, confidence) - priced.total(horizon, confidence);
    if (limit <= 0) break;
    const Result<double>& cost =
        prices.of(priced.candidate->plan, limit / outcome_.transition_factor() * kRounding);
    if (!cost) {
      refusal = cost.error().message;
      continue;
    }
    priced.transition = *cost * outcome_.transition_factor();
    if (!best || priced.total(horizon, confidence) < best->total(horizon, confidence)) best = priced;
  }
  return best;
}

Verdict Controller::verdict(const Priced& choice, const plan::StepTime& stay, double horizon) const {
  return judge({.stay = stay.total,
                .change = choice.seconds,
                .deviation = choice.deviation,
                .transition = choice.transition,
                .steps_left = static_cast<double>(steps_left_),
                .steps_to_change = horizon,
                .steps_since_change = since_change_,
                .widening = outcome_.widening()},
               options_.gate);
}

// The last plan's layouts on the devices that are there now: of what has run the calibration knows most.
void Controller::add_scaled(plan::SearchResult& found) const {
  if (!taken_) return;
  const auto scaled = plan::scale_data(*taken_, taken_devices_, cluster_.devices());
  if (!scaled) return;
  auto variant = plan::best_variant(cluster_, job_, calibration(), *scaled);
  if (!variant) return;
  plan::StepTime time = plan::predict(cluster_, job_, *variant, calibration());
  found.best.push_back({std::move(*variant), std::move(time)});
}

// There is no other plan to go to.
Decision Controller::keep(bool fits, const std::string& refusal, Decision decision) const {
  decision.action = plan_ ? Action::stay : Action::wait;
  if (!refusal.empty()) {
    decision.reason = fmt::format("{}: no transition is possible: {}", name_of(decision.action), refusal);
  } else if (fits) {
    decision.reason = "stay: no other plan fits";
  } else {
    decision.reason =
        fmt::format("{}: no plan fits the {} devices", name_of(decision.action), cluster_.devices());
  }
  return decision;
}

// What runs cannot go on, whatever the change costs.
Decision Controller::force(const Priced& choice, Decision decision) {
  decision.forced = true;
  decision.reason = plan_                                ? "change: the present plan would run out of memory"
                    : decision.trigger == Trigger::start ? "change: the first plan"
                                                         : "change: a device of the plan is gone";
  return take(choice, std::move(decision));
}

Decision Controller::search(Trigger trigger, Decision decision) {
  ++searches_[static_cast<size_t>(trigger)];
  decision.trigger = trigger;
  put_off_ = false;
  const bool fits = plan_ && plan::check_memory(cluster_, job_, *plan_).has_value();
  const int64_t middle = options_.length_steps / 2;
  plan::StepTime stay;
  if (fits) {
    at_search_ = ahead_;
    stay = price(middle);
  } else {
    job_.lengths = lengths(middle, 0);
  }
  plan::SearchResult found =
      plan::search(cluster_, job_, calibration(), options_.search, fits ? &*plan_ : nullptr);
  if (trigger == Trigger::devices || trigger == Trigger::lost) add_scaled(found);
  const double step = fits ? stay.total : found.best.empty() ? 1 : found.best.front().time.total;
  const double horizon = this->horizon(step);
  const std::vector<Priced> ranked = this->ranked(found, fits ? &stay : nullptr, horizon);
  if (fits && !ranked.empty()) {
    // What is declined even if it took no time needs no price.
    const Verdict free = verdict(ranked.front(), stay, horizon);
    if (!free.change) return decision.reason = free.reason, decision;
  }
  std::string refusal;
  const auto choice = best(ranked, horizon, refusal);
  if (!choice) return keep(fits, refusal, std::move(decision));
  if (!fits) return force(*choice, std::move(decision));
  const Verdict verdict = this->verdict(*choice, stay, horizon);
  decision.reason = verdict.reason;
  return verdict.change ? take(*choice, std::move(decision)) : decision;
}

Decision Controller::take(const Priced& choice, Decision decision) {
  const bool first = !plan_ && !previous_;
  if (plan_) {
    previous_ = std::move(plan_);
    before_ = cluster_;
  }
  plan_ = taken_ = choice.candidate->plan;
  taken_devices_ = cluster_.devices();
  price_.emplace(cluster_, job_, *plan_);
  decision.action = Action::change;
  decision.transition = choice.transition;
  at_search_ = ahead_ = price(1);
  decision.predicted = ahead_.total;
  memory_.restart();
  if (!first) {
    since_change_ = 0;
    outcome_.changed(choice.transition);
  }
  return decision;
}

}  // namespace nereus::control
