#include "nereus/text/stop_strings.h"

#include <algorithm>
#include <utility>

namespace nereus::text {

namespace {

/// Bytes at the end of `text` that may be the beginning of `stop`.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.ends_with(stop.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase(stops_, "");
}

StopStrings::Step StopStrings::push(std::string_view text) {
  if (!found_.empty()) return {.stopped = true};
  held_ += text;
  // The first to be complete wins, of several that end together the longest: what a reader of single
  // characters would see.
  size_t begin = std::string::npos, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    if (at + stop.size() < end || (at + stop.size() == end && at < begin)) {
      begin = at;
      end = at + stop.size();
      found_ = stop;
    }
  }
  if (!found_.empty()) return {.text = std::exchange(held_, {}).substr(0, begin), .stopped = true};
  size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, begun(held_, stop));
  Step step{.text = held_.substr(0, held_.size() - keep)};
  held_.erase(0, step.text.size());
  return step;
}

std::string StopStrings::finish() {
  found_.clear();
  return std::exchange(held_, {});
}

}  // namespace nereus::text
