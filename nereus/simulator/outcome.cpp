#include "nereus/simulator/outcome.h"

#include <limits>

namespace nereus::simulator {

double Outcome::step_latency() const {
  return steps > 0 ? elapsed / static_cast<double>(steps) : std::numeric_limits<double>::infinity();
}

double Outcome::step_seconds() const {
  double sum = 0;
  for (const auto& point : points) sum += point.seconds;
  return points.empty() ? std::numeric_limits<double>::infinity() : sum / static_cast<double>(points.size());
}

double Outcome::samples_per_second() const {
  return elapsed > 0 ? static_cast<double>(samples) / elapsed : 0;
}

double Outcome::change_seconds() const {
  double sum = 0;
  for (const auto& change : changes) sum += change.seconds + change.slower;
  return sum;
}

}  // namespace nereus::simulator
