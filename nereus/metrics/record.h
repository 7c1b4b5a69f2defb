#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/metrics/summary.h"

namespace nereus::metrics {

/// The numbers of one step by name, in the order in which they were first set. `names.h` lists the names.
/// Not thread-safe.
class Record {
 public:
  using Entry = std::pair<std::string, double>;

  /// Sets or replaces.
  void set(std::string_view name, double value);
  /// Sets PREFIX_mean, PREFIX_min and PREFIX_max; a prefix that ends in "/" gives PREFIX/mean and so on.
  void set_mean_min_max(std::string_view prefix, const Summary& summary);
  std::optional<double> get(std::string_view name) const;
  const std::vector<Entry>& entries() const { return entries_; }

  /// {"step": step, NAME: value, ...}; what is not finite becomes null.
  OrderedJson json(int64_t step) const;
  /// The reverse of `json`: numbers are taken, nulls become NaN, other values are left out.
  static Record from_json(const OrderedJson& line);

 private:
  std::vector<Entry> entries_;
};

}  // namespace nereus::metrics
