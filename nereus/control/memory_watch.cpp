#include "nereus/control/memory_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::control {
namespace {

constexpr double kForget = 0.98;
constexpr double kRidge = 1e-3;       // keeps a coefficient at 0 that nothing speaks of
constexpr double kLeakEvidence = 5;   // standard errors that a leak's slope must have
constexpr double kLeakHorizon = 100;  // steps in which a leak must be
constexpr double kNotable = 0.01;     // of the device's memory to be worth a word
constexpr double kMinSteps = 12;

double gigabytes(double bytes) {
  return bytes / 1e9;
}

}  // namespace

void MemoryWatch::restart() {
  for (auto& [number, device] : devices_) {
    const MemoryMargin margin = device.margin;
    device = Device{.margin = margin};
  }
}

// Peaks and loads are taken as the highest so far: allocators keep what they once had.
void MemoryWatch::learn(Device& d, double tokens, double peak) {
  if (d.step == 0) {
    d.first_x = d.top_x = tokens;
    d.first_y = d.top_y = peak;
  }
  d.top_x = std::max(d.top_x, tokens);
  d.top_y = std::max(d.top_y, peak);
  for (double* sum : {&d.n, &d.x, &d.t, &d.xx, &d.xt, &d.tt, &d.y, &d.xy, &d.ty, &d.yy}) *sum *= kForget;
  const double x = d.top_x / d.first_x - 1, t = d.step / kLeakHorizon, y = d.top_y / d.first_y - 1;
  d.n += 1, d.x += x, d.t += t, d.y += y;
  d.xx += x * x, d.xt += x * t, d.tt += t * t, d.xy += x * y, d.ty += t * y, d.yy += y * y;
  d.step += 1;
}

// Least squares of y on (1, x, t), centred; bytes a token, bytes a step.
MemoryWatch::Fit MemoryWatch::fit(const Device& d) {
  if (d.n < 2) return {};
  const double xx = d.xx - d.x * d.x / d.n + kRidge, tt = d.tt - d.t * d.t / d.n + kRidge,
               xt = d.xt - d.x * d.t / d.n;
  const double xy = d.xy - d.x * d.y / d.n, ty = d.ty - d.t * d.y / d.n, yy = d.yy - d.y * d.y / d.n;
  const double determinant = xx * tt - xt * xt;
  double a = (tt * xy - xt * ty) / determinant, b = (xx * ty - xt * xy) / determinant;
  if (a < 0) a = 0, b = ty / tt;
  if (b < 0) b = 0, a = std::max(0.0, xy / xx);
  const double left = std::max(0.0, yy - a * xy - b * ty);
  const double error = std::sqrt(left / std::max(d.n - 3, 1.0) * xx / determinant);
  return {a * d.first_y / d.first_x, b * d.first_y / kLeakHorizon, error * d.first_y / kLeakHorizon};
}

double MemoryWatch::expected(const Device& d, const Fit& fit, double tokens, int64_t steps) {
  const double longer = std::max(0.0, tokens - d.top_x);
  const bool leaks = fit.per_step > kLeakEvidence * fit.step_error;
  return d.top_y + fit.per_token * longer + (leaks ? fit.per_step * static_cast<double>(steps) : 0);
}

void MemoryWatch::observe(double tokens, const std::vector<DeviceMemory>& memory) {
  for (const DeviceMemory& report : memory) {
    Device& device =
        devices_.try_emplace(report.device, Device{.margin = MemoryMargin(options_)}).first->second;
    if (device.step > 0) device.margin.observe(expected(device, fit(device), tokens, 1), report.peak);
    device.capacity = report.capacity;
    learn(device, tokens, report.peak);
  }
}

MemoryFinding MemoryWatch::describe(int32_t number, const Device& d, double tokens, int64_t steps) {
  const Fit line = fit(d);
  MemoryFinding found{.device = number, .capacity = d.capacity};
  found.growth = line.per_token * (d.top_x - d.first_x);
  found.next_peak = expected(d, line, tokens, steps);
  found.bound = found.next_peak * (1 + d.margin.margin());
  const bool evident = d.step >= kMinSteps && line.per_step > kLeakEvidence * line.step_error;
  if (evident && line.per_step * kLeakHorizon > kNotable * d.capacity) {
    found.cause = MemoryCause::leak;
    found.leak = line.per_step;
    found.text = fmt::format(
        "device {}: memory leaks {:.3f} GB a step whatever the lengths: {:.1f} of {:.1f} GB are reached, "
        "full in {:.0f} steps",
        number, gigabytes(found.leak), gigabytes(d.top_y), gigabytes(d.capacity),
        std::max(0.0, (d.capacity - d.top_y) / found.leak));
  } else if (d.step >= 2 && d.top_y - d.first_y > kNotable * d.capacity) {
    found.cause = MemoryCause::growth;
    found.text = fmt::format(
        "device {}: memory grew {:.1f} GB to {:.1f} of {:.1f} GB as sequences went from {:.0f} to {:.0f} "
        "tokens; nothing leaks",
        number, gigabytes(d.top_y - d.first_y), gigabytes(d.top_y), gigabytes(d.capacity), d.first_x,
        d.top_x);
  } else {
    found.text = fmt::format("device {}: memory is steady at {:.1f} of {:.1f} GB", number, gigabytes(d.top_y),
                             gigabytes(d.capacity));
  }
  return found;
}

std::vector<MemoryFinding> MemoryWatch::findings(double tokens, int64_t steps) const {
  std::vector<MemoryFinding> all;
  for (const auto& [number, device] : devices_)
    if (device.step > 0) all.push_back(describe(number, device, tokens, steps));
  return all;
}

std::optional<MemoryFinding> MemoryWatch::fullest(double tokens, int64_t steps) const {
  const Device* worst = nullptr;
  int32_t number = 0;
  double most = -1;
  for (const auto& [key, device] : devices_) {
    if (device.step == 0 || device.capacity <= 0) continue;
    const double share =
        expected(device, fit(device), tokens, steps) * (1 + device.margin.margin()) / device.capacity;
    if (share > most) most = share, worst = &device, number = key;
  }
  if (worst == nullptr) return std::nullopt;
  return describe(number, *worst, tokens, steps);
}

}  // namespace nereus::control
