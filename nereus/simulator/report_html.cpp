#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nereus/plan/svg.h"
#include "nereus/plan/text_table.h"
#include "nereus/simulator/report.h"

namespace nereus::simulator {

namespace {

using plan::Anchor;

constexpr double kWidth = 900, kHeight = 190, kLeft = 64, kRight = 16, kTop = 22, kBottom = 30;

/// A point of a chart, in its own units.
struct Point {
  double x = 0, y = 0;
};

/// Axes of hours and of one quantity.
class Chart {
 public:
  Chart(const std::string& title, double hours, double top, const std::string& unit)
      : svg_(kWidth, kHeight, title), hours_(std::max(hours, 1e-6)), top_(std::max(top * 1.05, 1e-6)) {
    svg_.text(kLeft, 14, title + (unit.empty() ? "" : ", " + unit), Anchor::start, "h");
    const double step = plan::tick_step(top_, 5);
    for (double y = 0; y <= top_; y += step) {
      svg_.line(kLeft, py(y), kWidth - kRight, py(y), "g");
      svg_.text(kLeft - 6, py(y) + 4, plan::short_number(y), Anchor::end);
    }
    const double hour = plan::tick_step(hours_, 10);
    for (double x = 0; x <= hours_; x += hour) {
      svg_.line(px(x), kHeight - kBottom, px(x), kHeight - kBottom + 4, "g");
      svg_.text(px(x), kHeight - 10, fmt::format("{:g} h", x), Anchor::middle);
    }
  }

  void line(const std::vector<Point>& points, const std::string& css) {
    for (size_t i = 1; i < points.size(); ++i)
      svg_.line(px(points[i - 1].x), py(points[i - 1].y), px(points[i].x), py(points[i].y), css);
  }

  /// Holds each value until the next.
  void steps(const std::vector<Point>& points, double end, const std::string& css) {
    for (size_t i = 0; i < points.size(); ++i) {
      const double next = i + 1 < points.size() ? points[i + 1].x : end;
      svg_.line(px(points[i].x), py(points[i].y), px(next), py(points[i].y), css);
      if (i + 1 < points.size()) svg_.line(px(next), py(points[i].y), px(next), py(points[i + 1].y), css);
    }
  }

  void mark(double x, const std::string& css, const std::string& tip) {
    svg_.rectangle(px(x) - 1, kTop, 2, kHeight - kTop - kBottom, css, tip);
  }

  std::string element() const { return svg_.element(); }

 private:
  double px(double x) const { return kLeft + std::clamp(x / hours_, 0.0, 1.0) * (kWidth - kLeft - kRight); }
  double py(double y) const {
    return kHeight - kBottom - std::clamp(y / top_, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }

  plan::Svg svg_;
  double hours_, top_;
};

constexpr const char* kStyle = R"(<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:940px;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
svg{display:block;margin:.6em 0;max-width:100%;height:auto}
pre{background:#f5f5f2;padding:.8em;overflow-x:auto;font-size:12.5px}
svg .t{font-size:11px;fill:#555}svg .h{font-size:12px;fill:#222;font-weight:600}
svg .g{stroke:#ddd;stroke-width:1}
svg .there{stroke:#9aa5b1;stroke-width:2}svg .used{stroke:#0a7d5a;stroke-width:2}
svg .s{stroke:#2457a6;stroke-width:1.3}svg .m{stroke:#b4540a;stroke-width:1.3}
svg .c{fill:#7a3fb0;opacity:.55}svg .l{fill:#c22;opacity:.6}
.key span{padding-right:1.4em}
</style>)";

/// Least and most of neighbours are kept, so that no more lines are drawn than can be seen.
std::vector<Point> thinned(const std::vector<Point>& points) {
  constexpr size_t kMost = 400;
  if (points.size() <= 2 * kMost) return points;
  std::vector<Point> few;
  for (size_t i = 0; i < kMost; ++i) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i * points.size() / kMost);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>((i + 1) * points.size() / kMost);
    auto [low, high] =
        std::minmax_element(begin, end, [](const Point& a, const Point& b) { return a.y < b.y; });
    if (high < low) std::swap(low, high);
    few.push_back(*low);
    if (high != low) few.push_back(*high);
  }
  return few;
}

void mark_changes(Chart& chart, const Outcome& outcome) {
  for (const auto& change : outcome.changes)
    chart.mark(change.time / 3600, change.lost ? "l" : "c",
               fmt::format("step {}: {:.1f} s, {:.1f} GB moved; {}\n{}", change.step, change.seconds,
                           (change.moved + change.stored) / 1e9, change.reason, change.plan));
}

std::string policy_section(const Outcome& outcome, const std::vector<DevicePoint>& devices, double hours,
                           double slowest) {
  std::vector<Point> there, used, latency, memory;
  double most = 0;
  for (const auto& point : devices) {
    there.push_back({point.time / 3600, static_cast<double>(point.devices)});
    most = std::max(most, static_cast<double>(point.devices));
  }
  for (const auto& point : outcome.points) {
    if (used.empty() || used.back().y != point.devices)
      used.push_back({(point.time - point.seconds) / 3600, static_cast<double>(point.devices)});
    latency.push_back({point.time / 3600, point.seconds});
    memory.push_back({point.time / 3600, 100 * point.memory});
  }
  Chart d("devices", hours, most, ""), s("step", hours, slowest, "s"),
      m("memory of the fullest device", hours, 100, "%");
  d.steps(there, outcome.elapsed / 3600, "there");
  d.steps(used, outcome.elapsed / 3600, "used");
  mark_changes(d, outcome);
  s.line(thinned(latency), "s");
  m.line(thinned(memory), "m");
  return fmt::format("<h2>{}</h2>\n{}{}{}", plan::escaped(outcome.policy), d.element(), s.element(),
                     m.element());
}

double nearly_slowest(const SimulationReport& report) {
  std::vector<double> seconds;
  for (const auto& outcomes : report.outcomes)
    for (const auto& point : outcomes.front().points) seconds.push_back(point.seconds);
  if (seconds.empty()) return 1;
  std::ranges::sort(seconds);
  return seconds[std::min(seconds.size() - 1, seconds.size() * 995 / 1000)];
}

}  // namespace

std::string report_html(const SimulationReport& report) {
  double hours = 0;
  for (const auto& outcomes : report.outcomes) hours = std::max(hours, outcomes.front().elapsed / 3600);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>{0}</title>\n{1}</head><body>\n"
      "<h1>Simulation of {0}</h1>\n<pre>{2}</pre>\n"
      "<p class=\"key\"><span>grey: devices that can be used</span><span>green: that the plan uses</span>"
      "<span>violet: a change of plan</span><span>red: a change because machines had gone</span></p>\n"
      "<p>Over time, of the first seed; point at a change to read it.</p>\n",
      plan::escaped(report.scenario.name), kStyle, plan::escaped(report_text(report)));
  const double slowest = nearly_slowest(report);
  for (const auto& outcomes : report.outcomes)
    page += policy_section(outcomes.front(), report.devices.front(), hours, slowest);
  return page + "</body></html>\n";
}

}  // namespace nereus::simulator
