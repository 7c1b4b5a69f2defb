#include <algorithm>
#include <array>

#include "nereus/plan/time.h"

namespace nereus::plan {
namespace {

double value_of(const std::map<std::pair<Operation, std::string>, double>& values, Operation operation,
                const std::string& regime, double otherwise) {
  std::pair<Operation, std::string> key{operation, ""};
  const auto first = values.lower_bound(key);  // of the operation: that of all roles comes before the others
  if (first == values.end() || first->first.first != operation) return otherwise;
  key.second = regime;
  auto found = values.find(key);
  if (found == values.end()) {
    key.second.resize(std::min(regime.find('/'), regime.size()));
    found = values.find(key);
  }
  if (found != values.end()) return found->second;
  return first->first.second.empty() ? first->second : otherwise;
}

}  // namespace

std::string_view name_of(Operation operation) {
  constexpr std::array<std::string_view, kOperations> kNames{"prefill",   "decode",        "infer",
                                                             "train",     "optimizer",     "tensor_link",
                                                             "data_link", "pipeline_link", "weight_sync"};
  return kNames[static_cast<size_t>(operation)];
}

double Calibration::factor(Operation operation, const std::string& regime) const {
  return value_of(factors, operation, regime, 1);
}

double Calibration::offset(Operation operation, const std::string& regime) const {
  return value_of(offsets, operation, regime, 0);
}

RegimeFactors::RegimeFactors(const Calibration& calibration, const std::string& regime) {
  for (size_t i = 0; i < kOperations; ++i) {
    factors[i] = calibration.factor(static_cast<Operation>(i), regime);
    offsets[i] = calibration.offset(static_cast<Operation>(i), regime);
  }
}

std::string regime_of(const Placement& placement) {
  return std::string(name_of(placement.what.role)) + "/tp" + std::to_string(placement.layout.tp) + "/pp" +
         std::to_string(placement.layout.pp);
}

}  // namespace nereus::plan
