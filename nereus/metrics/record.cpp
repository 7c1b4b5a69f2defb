#include "nereus/metrics/record.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nereus::metrics {

void Record::set(std::string_view name, double value) {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found != entries_.end())
    found->second = value;
  else
    entries_.emplace_back(name, value);
}

void Record::set_mean_min_max(std::string_view prefix, const Summary& summary) {
  const std::string start = prefix.ends_with('/') ? std::string(prefix) : std::string(prefix) + "_";
  set(start + "mean", summary.mean());
  set(start + "min", summary.min());
  set(start + "max", summary.max());
}

std::optional<double> Record::get(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

OrderedJson Record::json(int64_t step) const {
  OrderedJson line = {{"step", step}};
  for (const auto& [name, value] : entries_)
    line[name] = std::isfinite(value) ? OrderedJson(value) : OrderedJson();
  return line;
}

Record Record::from_json(const OrderedJson& line) {
  Record record;
  for (const auto& [name, value] : line.items()) {
    if (name == "step") continue;
    if (value.is_number()) record.set(name, value.get<double>());
    if (value.is_null()) record.set(name, std::numeric_limits<double>::quiet_NaN());
  }
  return record;
}

}  // namespace nereus::metrics
