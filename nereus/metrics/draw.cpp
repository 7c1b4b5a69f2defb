#include "nereus/metrics/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace nereus::metrics {
namespace {

/// The mean of each of at most `width` equal stretches of `values`.
std::vector<double> stretches(const std::vector<double>& values, size_t width) {
  std::vector<double> means;
  const size_t count = std::min(width, values.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t from = i * values.size() / count, to = (i + 1) * values.size() / count;
    double sum = 0;
    for (size_t j = from; j < to; ++j) sum += values[j];
    means.push_back(sum / static_cast<double>(to - from));
  }
  return means;
}

}  // namespace

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bar(double fraction, int width, bool unicode) {
  static constexpr std::array<const char*, 7> kParts = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int units = unicode ? 8 : 1;  // a block has eight shades
  const double inside = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int filled = static_cast<int>(std::floor(inside * std::max(width, 0) * units));
  std::string text;
  for (int i = 0; i < width; ++i) {
    const int here = filled - i * units;
    if (here >= units)
      text += unicode ? "█" : "#";
    else if (here > 0)
      text += kParts.at(static_cast<size_t>(here - 1));
    else
      text += unicode ? "░" : ".";
  }
  return text;
}

std::string sparkline(std::span<const double> values, int width, bool unicode) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  if (!unicode || width <= 0 || finite.empty()) return "";
  const auto means = stretches(finite, static_cast<size_t>(width));
  const auto [low, high] = std::ranges::minmax(means);
  std::string text;
  for (const double mean : means) {
    const double height = high > low ? (mean - low) / (high - low) : 0.0;
    text += kBlocks.at(static_cast<size_t>(std::lround(height * 7)));
  }
  return text;
}

std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e7)) return fmt::format("{:.2e}", value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

}  // namespace nereus::metrics
