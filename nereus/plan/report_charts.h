#pragma once

#include <string>
#include <vector>

#include "nereus/plan/report.h"
#include "nereus/plan/timeline.h"

namespace nereus::plan {

/// The step as bars over time, a row for each part.
std::string timeline_chart(const std::vector<Span>& spans);
/// GB by component of each group of devices at its fullest moment, with what it may fill.
std::string memory_chart(const PlanFacts& facts);
/// Seconds of a step, a bar for each name.
std::string seconds_chart(const std::vector<std::pair<std::string, double>>& seconds);
/// Responses of a step by quantile: how long the tail is.
std::string lengths_chart(const Lengths& lengths);

}  // namespace nereus::plan
