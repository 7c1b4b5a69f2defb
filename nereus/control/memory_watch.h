#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nereus/control/memory_margin.h"
#include "nereus/control/observation.h"

namespace nereus::control {

enum class MemoryCause : uint8_t { steady, growth, leak };

/// What happens to the memory of one device.
struct MemoryFinding {
  int32_t device = 0;
  MemoryCause cause = MemoryCause::steady;
  double growth = 0;      ///< bytes since the watch began that longer responses explain
  double leak = 0;        ///< bytes a step that they do not
  double next_peak = 0;   ///< bytes, expected for the step asked about
  double bound = 0;       ///< bytes, not to be exceeded by then
  double capacity = 0;    ///< bytes
  std::string text = {};  ///< one sentence for the user
};

/// Tells growth of memory with the lengths from a leak, and bounds the peak of coming steps. The peak of each
/// device is explained by a constant, the tokens of the step's longest load so far, and the steps since the
/// plan was last changed; only what goes on rising without the tokens is a leak. Not thread-safe.
class MemoryWatch {
 public:
  explicit MemoryWatch(MarginOptions options = {}) : options_(options) {}

  /// `tokens`: any measure of a step's load that memory follows, e.g. of the mean prompt and response.
  void observe(double tokens, const std::vector<DeviceMemory>& memory);
  /// Peaks `steps` >= 1 ahead under a load of `tokens`. One of each device seen.
  std::vector<MemoryFinding> findings(double tokens, int64_t steps) const;
  /// That of the device whose bound is the largest share of its memory; empty before the first step.
  std::optional<MemoryFinding> fullest(double tokens, int64_t steps) const;
  /// After a change of plan: what was learnt of the old plan's peaks does not hold. Margins are kept.
  void restart();

 private:
  struct Device {
    // Sums of (1, tokens, step) products and with the peaks, forgetting the distant past.
    double n = 0, x = 0, t = 0, xx = 0, xt = 0, tt = 0, y = 0, xy = 0, ty = 0, yy = 0;
    double first_x = 0, first_y = 0, top_x = 0, top_y = 0, capacity = 0, step = 0;
    MemoryMargin margin;
  };
  struct Fit {
    double per_token = 0, per_step = 0, step_error = 0;
  };

  static void learn(Device& device, double tokens, double peak);
  static Fit fit(const Device& device);
  static double expected(const Device& device, const Fit& fit, double tokens, int64_t steps);
  static MemoryFinding describe(int32_t number, const Device& device, double tokens, int64_t steps);

  MarginOptions options_;
  std::map<int32_t, Device> devices_;
};

}  // namespace nereus::control
