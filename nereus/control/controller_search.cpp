#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "nereus/control/controller.h"

namespace nereus::control {
namespace {

double share(const plan::StepTime& time, plan::ModelStage what) {
  const plan::StageTime* stage = time.find(what);
  return stage == nullptr || time.total <= 0 ? 0 : stage->total() / time.total;
}

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

// The candidate that is cheapest over the horizon, its transition included and its layouts taken for slower
// the less is known of them; none where every transition is refused. The present plan is no candidate.
std::optional<Controller::Priced> Controller::best(const plan::SearchResult& found,
                                                   const plan::StepTime* stay, double horizon,
                                                   std::string& refusal) const {
  std::optional<Priced> best;
  const plan::Plan* from = plan_ ? &*plan_ : previous_ ? &*previous_ : nullptr;
  const cluster::Cluster& before = plan_ ? cluster_ : before_;
  const double confidence = options_.gate.confidence;
  for (const plan::Candidate& candidate : found.best) {
    if (plan_ && candidate.plan == *plan_) continue;
    const Result<double> cost = cost_(Move{before, from, cluster_, candidate.plan});
    if (!cost) {
      refusal = cost.error().message;
      continue;
    }
    Priced priced{&candidate, candidate.time.total + unexplained_, *cost * outcome_.transition_factor(), 0};
    if (from != nullptr) priced.deviation = deviation(stay, *from, candidate);
    if (!best || priced.total(horizon, confidence) < best->total(horizon, confidence)) best = priced;
  }
  return best;
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
  const plan::SearchResult found =
      plan::search(cluster_, job_, calibration(), options_.search, fits ? &*plan_ : nullptr);
  const double step = fits ? stay.total : found.best.empty() ? 1 : found.best.front().time.total;
  std::string refusal;
  const auto choice = best(found, fits ? &stay : nullptr, horizon(step), refusal);
  if (!choice) return keep(fits, refusal, std::move(decision));
  if (!fits) return force(*choice, std::move(decision));
  const Verdict verdict = judge({.stay = stay.total,
                                 .change = choice->seconds,
                                 .deviation = choice->deviation,
                                 .transition = choice->transition,
                                 .steps_left = static_cast<double>(steps_left_),
                                 .steps_to_change = horizon(step),
                                 .steps_since_change = since_change_,
                                 .widening = outcome_.widening()},
                                options_.gate);
  decision.reason = verdict.reason;
  return verdict.change ? take(*choice, std::move(decision)) : decision;
}

Decision Controller::take(const Priced& choice, Decision decision) {
  const bool first = !plan_ && !previous_;
  if (plan_) {
    previous_ = std::move(plan_);
    before_ = cluster_;
  }
  plan_ = choice.candidate->plan;
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
