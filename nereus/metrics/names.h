#pragma once

#include <span>
#include <string_view>

namespace nereus::metrics {

/// One number that a step logs.
struct MetricName {
  std::string_view name;  ///< NAME, DEVICE, COMPONENT stand for a reward, a device, a part of memory
  std::string_view unit;
  std::string_view meaning;
};

/// All numbers a step may log. `docs/metrics.md` has the same table (a test compares them).
std::span<const MetricName> metric_names();

/// Whether `name` is in the table, or fits an entry with a placeholder ("rewards/correct/mean").
bool is_metric(std::string_view name);

}  // namespace nereus::metrics
