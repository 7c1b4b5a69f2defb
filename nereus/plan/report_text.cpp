#include <fmt/ranges.h>

#include "nereus/plan/report_tables.h"

namespace nereus::plan {

namespace {

std::string plan_text(const Job& job, const PlanFacts& facts) {
  std::string out = placement_table(facts).text();
  out += "\nThe step, in seconds\n" + time_table(job, facts).text();
  out += "\nMemory at the fullest moment, in GB of 10^9 bytes\n" + memory_table(facts).text();
  out += fmt::format("\nLongest response that fits: {}\n", describe_longest(job, facts));
  return out;
}

/// What holds the stages back, those of one bound on a line.
std::string bounds_text(const StepTime& time) {
  std::string out = "\nWhat bounds the stages\n";
  for (const Bound bound : {Bound::compute, Bound::memory_bandwidth, Bound::link, Bound::tail}) {
    std::vector<std::string> stages;
    for (const auto& stage : time.stages)
      if (stage.bound == bound) stages.push_back(to_string(stage.what));
    if (!stages.empty()) out += fmt::format("  {}: {}\n", fmt::join(stages, ", "), describe_bound(bound));
  }
  return out;
}

std::string rejected_text(const std::vector<Rejection>& rejected) {
  if (rejected.empty()) return {};
  std::string out = "\nSet aside\n";
  for (const auto& part : set_aside(rejected)) {
    for (const auto& each : part.shown) out += fmt::format("  {}: {}\n", each.what, each.reason);
    if (part.left_out > 0)
      out += fmt::format("  {}: {} more (--json lists them)\n", part.what, part.left_out);
  }
  return out;
}

std::string heading(size_t number, const Report& report) {
  const auto& time = report.plans[number].candidate.time;
  const double ratio = time.total / report.plans[0].candidate.time.total;
  const std::string than = number == 0 ? "" : fmt::format(" ({:.3f} times the best)", ratio);
  return fmt::format("\nPlan {}: {}{}\n", number + 1, describe_speed(report.job, time), than);
}

}  // namespace

std::string report_text(const Report& report, bool explain) {
  std::string out = fmt::format("job      {}\ncluster  {}\nsearch   {}\n", describe_job(report.job),
                                describe_cluster(report.cluster), describe_search(report));
  if (report.plans.empty()) return out + "\nNo plan fits.\n" + rejected_text(report.rejected);
  for (size_t i = 0; i < report.plans.size(); ++i) {
    out += heading(i, report);
    out +=
        i == 0 || explain ? plan_text(report.job, report.plans[i]) : placement_table(report.plans[i]).text();
  }
  if (explain) out += bounds_text(report.plans[0].candidate.time) + rejected_text(report.rejected);
  return out;
}

std::string what_if_text(const Report& now, const WhatIfReport& then, bool explain) {
  std::string out = fmt::format("\nWhat if {}\n", then.words);
  if (!now.plans.empty()) {
    const double before = now.plans[0].candidate.time.total;
    out += fmt::format("  now                   {} s a step\n", short_number(before));
    out += then.stay ? fmt::format("  with the present plan {} s a step\n", short_number(*then.stay))
                     : fmt::format("  the present plan does not apply: {}\n", then.why_not_stay);
  }
  if (!then.report.plans.empty())
    out += fmt::format("  with the best plan    {} s a step\n",
                       short_number(then.report.plans[0].candidate.time.total));
  return out + "\n" + report_text(then.report, explain);
}

}  // namespace nereus::plan
