#include "nereus/control/calibration.h"

#include <cmath>

namespace nereus::control {
namespace {

double square(double x) {
  return x * x;
}

// Of measured / analytic at the work measured last.
double log_ratio(const OnlineLine& line) {
  return std::log(line.at(line.last_work()) / line.last_work());
}

}  // namespace

plan::Operation operation_of(plan::Stage stage) {
  switch (stage) {
    case plan::Stage::generate:
      return plan::Operation::decode;
    case plan::Stage::infer:
      return plan::Operation::infer;
    case plan::Stage::train:
      return plan::Operation::train;
  }
  return plan::Operation::train;
}

bool Calibrator::observe(plan::Operation operation, const std::string& regime, double analytic,
                         double measured) {
  const auto place =
      regimes_.try_emplace({operation, regime}, Regime{.line = OnlineLine(options_.line)}).first;
  place->second.age = 0;
  return place->second.line.observe(analytic, measured);
}

void Calibrator::end_step() {
  for (auto& [key, regime] : regimes_) ++regime.age;
}

double Calibrator::variance(const Regime& regime) const {
  const int64_t unmeasured = regime.age > 1 ? regime.age - 1 : 0;
  return square(regime.line.deviation(regime.line.last_work())) +
         square(options_.ageing) * static_cast<double>(unmeasured);
}

// Posterior of the operation's factor given the regimes', each of which lies around it.
Calibrator::Pool Calibrator::pool(plan::Operation operation) const {
  double weights = 1 / square(options_.between_jobs), sum = 0;
  for (auto i = regimes_.lower_bound({operation, ""}); i != regimes_.end() && i->first.first == operation;
       ++i) {
    const double weight = 1 / (square(options_.between_regimes) + variance(i->second));
    weights += weight;
    sum += weight * log_ratio(i->second.line);
  }
  return {sum / weights, 1 / weights};
}

// What the regime's own measurements and the others' say together, by their precision.
Factor Calibrator::factor(const Regime& regime, const Pool& common) const {
  const double around = common.variance + square(options_.between_regimes);
  const double own = variance(regime), share = around / (around + own);
  const double mean = share * log_ratio(regime.line) + (1 - share) * common.mean;
  return {std::exp(mean), std::sqrt(share * own), regime.line.count()};
}

Factor Calibrator::factor(plan::Operation operation, const std::string& regime) const {
  const Pool common = pool(operation);
  const auto found = regimes_.find({operation, regime});
  if (found != regimes_.end()) return factor(found->second, common);
  return {std::exp(common.mean), std::sqrt(common.variance + square(options_.between_regimes)), 0};
}

double Calibrator::noise(plan::Operation operation, const std::string& regime) const {
  const auto found = regimes_.find({operation, regime});
  return found == regimes_.end() ? options_.line.noise : found->second.line.noise();
}

// A regime of a role that was not seen has the common factor, but as much of its time does not grow with the
// work as of the role's regimes that were seen, by their precision.
void Calibrator::add_roles(plan::Operation operation, const Pool& common, plan::Calibration& result) const {
  struct Sum {
    double weight = 0, share = 0, work = 0;
  };
  std::map<std::string, Sum> roles;
  for (auto i = regimes_.lower_bound({operation, ""}); i != regimes_.end() && i->first.first == operation;
       ++i) {
    const OnlineLine& line = i->second.line;
    const double weight = 1 / (square(options_.between_regimes) + variance(i->second));
    Sum& sum = roles[i->first.second.substr(0, i->first.second.find('/'))];
    sum.weight += weight;
    sum.share += weight * line.constant() / line.at(line.last_work());
    sum.work += weight * line.last_work();
  }
  for (const auto& [role, sum] : roles) {
    const double share = sum.share / sum.weight, work = sum.work / sum.weight;
    result.factors[{operation, role}] = std::exp(common.mean) * (1 - share);
    result.offsets[{operation, role}] = std::exp(common.mean) * share * work;
  }
}

plan::Calibration Calibrator::calibration(const plan::Calibration& base) const {
  plan::Calibration result = base;
  for (const plan::Operation operation :
       {plan::Operation::decode, plan::Operation::infer, plan::Operation::train})
    add_roles(operation, pool(operation), result);
  for (const auto& [key, regime] : regimes_) {
    const Pool common = pool(key.first);
    const double correction = factor(regime, common).value / std::exp(log_ratio(regime.line));
    result.factors[key] = regime.line.slope() * correction;
    result.offsets[key] = regime.line.constant() * correction;
    result.factors[{key.first, ""}] = std::exp(common.mean);
  }
  return result;
}

}  // namespace nereus::control
