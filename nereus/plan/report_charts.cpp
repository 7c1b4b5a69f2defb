#include "nereus/plan/report_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "nereus/plan/report_tables.h"
#include "nereus/plan/svg.h"

namespace nereus::plan {

namespace {

constexpr double kWidth = 860, kLeft = 190, kRight = 60, kRow = 24, kBar = 16, kTop = 8, kAxis = 34;

/// Rows of horizontal bars over one scale that begins at 0.
class Bars {
 public:
  Bars(std::string_view title, size_t rows, double top, std::string_view unit)
      : top_(std::max(top, 1e-9)), svg_(kWidth, kTop + static_cast<double>(rows) * kRow + kAxis, title) {
    const double bottom = kTop + static_cast<double>(rows) * kRow;
    const double step = tick_step(top_, 8);
    for (double value = 0; value <= top_ * 1.0001; value += step) {
      svg_.line(x(value), kTop, x(value), bottom, "grid");
      svg_.text(x(value), bottom + 14, fmt::format("{:g}", value), Anchor::middle);
    }
    svg_.text(kWidth - kRight, bottom + 29, unit, Anchor::end);
  }

  void name(size_t row, std::string_view words) { svg_.text(kLeft - 8, y(row) + 12.5, words, Anchor::end); }
  void bar(size_t row, double from, double to, std::string_view css, std::string_view tip) {
    svg_.rectangle(x(from), y(row), std::max(x(to) - x(from), 1.0), kBar, css, tip);
  }
  void mark(size_t row, double at) { svg_.line(x(at), y(row) - 3, x(at), y(row) + kBar + 3, "limit"); }
  void note(size_t row, double at, std::string_view words) { svg_.text(x(at) + 5, y(row) + 12.5, words); }
  std::string element() const { return svg_.element(); }

 private:
  double x(double value) const { return kLeft + value / top_ * (kWidth - kLeft - kRight); }
  static double y(size_t row) { return kTop + static_cast<double>(row) * kRow + (kRow - kBar) / 2; }

  double top_;
  Svg svg_;
};

/// A colour of the page by the last word: all training in one, all inference in another.
std::string_view color_of(std::string_view what) {
  if (what.ends_with("generate")) return "c0";
  if (what.ends_with("infer")) return "c1";
  if (what.ends_with("train")) return "c2";
  return "c3";
}

}  // namespace

std::string timeline_chart(const std::vector<Span>& spans) {
  double end = 0;
  for (const auto& span : spans) end = std::max(end, span.end);
  Bars bars("When each part of the step runs", spans.size(), end, "seconds");
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto& span = spans[i];
    const std::string seconds = short_number(span.end - span.begin) + " s";
    bars.name(i, span.what);
    bars.bar(i, span.begin, span.end, color_of(span.what),
             fmt::format("{}: {} from {} s", span.what, seconds, short_number(span.begin)));
    bars.note(i, span.end, seconds);
  }
  return bars.element();
}

std::string memory_chart(const PlanFacts& facts) {
  double top = 0;
  for (const auto& group : facts.groups)
    top = std::max(top, std::max(group.memory, group.peak.ledger.total()));
  Bars bars("Memory of the devices", facts.groups.size(), top / kGiga,
            "GB of 10^9 bytes; the mark is what may be filled");
  for (size_t i = 0; i < facts.groups.size(); ++i) {
    const auto& group = facts.groups[i];
    const std::string devices = ranges(group.devices);
    bars.name(i, short_ranges(group.devices, 18));
    double from = 0;
    for (size_t c = 0; c < kComponents; ++c) {
      const double size = group.peak.ledger.bytes[c] / kGiga;
      if (size <= 0) continue;
      const auto words =
          fmt::format("{}: {} GB on {}", name_of(static_cast<Component>(c)), short_number(size), devices);
      bars.bar(i, from, from + size, fmt::format("m{}", c), words);
      from += size;
    }
    bars.mark(i, group.peak.limit / kGiga);
    bars.note(i, std::max(from, group.peak.limit / kGiga), short_number(from));
  }
  return bars.element();
}

std::string seconds_chart(const std::vector<std::pair<std::string, double>>& seconds) {
  double top = 0;
  for (const auto& [name, value] : seconds) top = std::max(top, value);
  Bars bars("Seconds of a step", seconds.size(), top, "seconds a step");
  for (size_t i = 0; i < seconds.size(); ++i) {
    const auto& [name, value] = seconds[i];
    bars.name(i, name);
    bars.bar(i, 0, value, "c0", fmt::format("{}: {} s", name, short_number(value)));
    bars.note(i, value, short_number(value));
  }
  return bars.element();
}

std::string lengths_chart(const Lengths& lengths) {
  constexpr double kQuantiles[] = {0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0};
  Bars bars("Lengths of responses", std::size(kQuantiles), static_cast<double>(lengths.max_response),
            "tokens");
  for (size_t i = 0; i < std::size(kQuantiles); ++i) {
    const auto length = static_cast<double>(lengths.at(kQuantiles[i]));
    bars.name(i, i + 1 == std::size(kQuantiles)
                     ? "longest"
                     : fmt::format("{:g} % are shorter than", 100 * kQuantiles[i]));
    bars.bar(i, 0, length, "c1", fmt::format("{} tokens", short_number(length)));
    bars.note(i, length, short_number(length));
  }
  return bars.element();
}

}  // namespace nereus::plan
