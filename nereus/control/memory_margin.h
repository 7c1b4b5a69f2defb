#pragma once

#include <cstddef>
#include <vector>

namespace nereus::control {

struct MarginOptions {
  double prior = 0.03;     ///< relative excess assumed before anything was seen
  double quantile = 0.95;  ///< of the excesses seen
  int window = 64;         ///< excesses that are remembered
  double safety = 1.25;    ///< by which a quantile seen is widened
};

/// How far above the forecast memory may come: an upper quantile of how far it did. An excess raises the
/// bound at once; a step without one never lowers it in that step, only ageing does, slowly. Not thread-safe.
class MemoryMargin {
 public:
  explicit MemoryMargin(MarginOptions options = {}) : options_(options), margin_(options.prior) {}

  /// `forecast` was made without the margin. REQUIRES: both > 0.
  void observe(double forecast, double measured);
  /// Relative: bound = forecast * (1 + margin()).
  double margin() const { return margin_; }

 private:
  double seen() const;

  MarginOptions options_;
  double margin_;
  std::vector<double> excess_;  // the last `window`, in a ring
  size_t next_ = 0;
};

}  // namespace nereus::control
