#include "nereus/control/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nereus::control {
namespace {

struct Span {
  double start = 0, end = 0;
  size_t stage = 0;
};

// Spans by device; a stage without ranks is a device of its own, with a negative number.
std::map<int32_t, std::vector<Span>> spans_by_device(const std::vector<StageObservation>& stages) {
  std::map<int32_t, std::vector<Span>> devices;
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const RankSpan& rank : stages[i].ranks) devices[rank.device].push_back({rank.start, rank.end, i});
    if (stages[i].ranks.empty())
      devices[-1 - static_cast<int32_t>(i)].push_back({stages[i].start, stages[i].end, i});
  }
  return devices;
}

// Seconds that at least one span covers.
double covered(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  double sum = 0, until = spans.front().start;
  for (const Span& span : spans) {
    sum += std::max(0.0, span.end - std::max(span.start, until));
    until = std::max(until, span.end);
  }
  return sum;
}

StageUse use_of(const StageObservation& stage) {
  StageUse use{.what = stage.what, .seconds = stage.seconds()};
  if (stage.ranks.empty()) return use;
  double first = stage.ranks.front().start, last = stage.ranks.front().end, busy = 0;
  for (const RankSpan& rank : stage.ranks) {
    first = std::min(first, rank.start);
    last = std::max(last, rank.end);
    busy += rank.end - rank.start;
  }
  use.seconds = last - first;
  const double offered = use.seconds * static_cast<double>(stage.ranks.size());
  use.waiting = offered > 0 ? 1 - busy / offered : 0;
  return use;
}

size_t longest_stage(const std::vector<Span>& spans, size_t stages) {
  std::vector<double> seconds(stages, 0.0);
  for (const Span& span : spans) seconds[span.stage] += span.end - span.start;
  return static_cast<size_t>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

}  // namespace

Usage usage(const std::vector<StageObservation>& stages) {
  Usage result;
  for (const StageObservation& stage : stages) result.stages.push_back(use_of(stage));
  const auto devices = spans_by_device(stages);
  double first = stages.front().start, last = stages.front().end;
  for (const auto& [device, spans] : devices)
    for (const Span& span : spans) first = std::min(first, span.start), last = std::max(last, span.end);

  double busy = 0, busiest = -1;
  for (const auto& [device, spans] : devices) {
    const double seconds = covered(spans);
    busy += seconds;
    if (seconds > busiest) {
      busiest = seconds;
      result.bottleneck = longest_stage(spans, stages.size());
    }
  }
  const double offered = (last - first) * static_cast<double>(devices.size());
  result.idle = offered > 0 ? 1 - busy / offered : 0;
  const StageUse& most = result.stages[result.bottleneck];
  result.text = fmt::format(
      "{} bounds the step: {:.1f} of {:.1f} s, {:.0f} % of its devices' time waiting for slower ranks; "
      "devices are idle {:.0f} % of the step",
      plan::to_string(most.what), most.seconds, last - first, 100 * most.waiting, 100 * result.idle);
  return result;
}

}  // namespace nereus::control
