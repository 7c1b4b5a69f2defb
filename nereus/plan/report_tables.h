#pragma once

#include <string>

#include "nereus/plan/report.h"
#include "nereus/plan/text_table.h"

namespace nereus::plan {

/// What the text and the page of a report both show, as tables.

/// "grpo: actor llama of 8.03 B parameters, ...": one line about the job.
std::string describe_job(const Job& job);
/// "16 devices: 2 machines of 8 A100-80".
std::string describe_cluster(const cluster::Cluster& cluster);
/// "12,345 placements in 8.1 ms".
std::string describe_search(const Report& report);
/// "41.2 s a step: 24.9 samples/s, 25,400 response tokens/s".
std::string describe_speed(const Job& job, const StepTime& time);
/// "6,300 tokens (the job's limit is 4,096)".
std::string describe_longest(const Job& job, const PlanFacts& facts);

TextTable placement_table(const PlanFacts& facts);
/// Of each part of the step: begin, seconds by what they are spent on, bound.
TextTable time_table(const Job& job, const PlanFacts& facts);
/// GB by component of each group of devices.
TextTable memory_table(const PlanFacts& facts);
/// Set-aside plans by model and stage, at most a few of each: first those that do not fit.
struct SetAside {
  std::string what;  ///< "actor train"
  std::vector<Rejection> shown;
  size_t left_out = 0;
};
std::vector<SetAside> set_aside(const std::vector<Rejection>& rejected);
/// What a bound means for someone who wants a faster step: "compute", "the longest responses: ...".
std::string describe_bound(Bound bound);

inline constexpr double kGiga = 1e9;  ///< bytes of a GB

}  // namespace nereus::plan
