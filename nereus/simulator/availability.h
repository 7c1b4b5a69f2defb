#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::simulator {

/// From `time` (seconds since the start) on there are `count` devices or nodes.
struct Reading {
  double time = 0;
  int32_t count = 0;

  friend bool operator==(const Reading&, const Reading&) = default;
};

/// What the files in use hold: `log` "2021-12-11, 11:11:30, 55"; `events` "1440000,add,node7" (milliseconds;
/// add or remove); `json` [{"Time": 63, "GPUs": 14}]; `csv` "seconds,count", a first line of names is
/// allowed.
enum class TraceFormat : uint8_t { log, events, json, csv };

/// By the text itself.
Result<TraceFormat> trace_format(std::string_view text, const std::string& source);

/// Readings in order of time, the first at 0, none but the last that repeats the count before it. A time that
/// runs backwards (a clock that was set, rows of two writers) counts as the latest time before it: what was
/// read last holds. Errors name `source`, the line and what was expected.
Result<std::vector<Reading>> parse_availability(std::string_view text, const std::string& source);
Result<std::vector<Reading>> read_availability(const std::filesystem::path& path);

/// A trace without a file.
struct GeneratedAvailability {
  int32_t low = 8, high = 8;   ///< inclusive
  double mean_seconds = 3600;  ///< between changes, exponential
  double duration = 86400;
};
std::vector<Reading> generate_availability(const GeneratedAvailability& options, uint64_t seed);

/// Whole machines of `devices_each`: counts are divided, rounded down, cut at `most`; repeats are dropped as
/// above.
std::vector<Reading> whole_machines(const std::vector<Reading>& readings, int32_t devices_each, int32_t most);

/// The trace read forwards and, past its last reading, backwards and forwards again, so that it has no end
/// and no jump. REQUIRES: readings not empty.
class Availability {
 public:
  explicit Availability(std::vector<Reading> readings);

  int32_t count(double time) const;
  /// The first moment after `time` at which the count changes; infinite where it never does.
  double next_change(double time) const;

 private:
  double inside(double time) const;  ///< place in the trace
  std::vector<Reading> readings_;
  double duration_;
};

}  // namespace nereus::simulator
