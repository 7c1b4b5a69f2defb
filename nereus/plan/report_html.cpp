#include <fmt/format.h>

#include "nereus/plan/report_charts.h"
#include "nereus/plan/report_tables.h"
#include "nereus/plan/svg.h"

namespace nereus::plan {

namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Nereus plan</title>
<style>
:root { color-scheme: light dark; --fg: #1c2430; --bg: #fff; --soft: #5c6773; --grid: #dde2e8; --limit: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --fg: #e4e8ee; --bg: #14181d; --soft: #9aa5b1; --grid: #2e363f; --limit: #ff7a68; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; } h3 { font-size: 1rem; margin: 1.3rem 0 .3rem; }
p.soft, .soft { color: var(--soft); margin: .2rem 0; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; margin: .5rem 0; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th.l, td.l { text-align: left; } th { color: var(--soft); font-weight: 500; }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--fg); } .grid { stroke: var(--grid); } .limit { stroke: var(--limit); stroke-width: 2; }
.c0, .m0 { fill: #3b78c2; } .c1, .m1 { fill: #5aa469; } .c2, .m2 { fill: #d98a3d; } .c3, .m3 { fill: #8c6bb8; }
.m4 { fill: #c2587a; } .m5 { fill: #4fa3a5; } .m6 { fill: #b5a642; } .m7 { fill: #7b8794; } .m8 { fill: #a0785a; } .m9 { fill: #5e7fa8; }
ul.key { list-style: none; padding: 0; margin: .3rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: 13px; }
ul.key svg { width: 12px; height: 12px; vertical-align: -1px; margin-right: .3rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: 14px; } dt { color: var(--soft); } dd { margin: 0; }
</style>
</head>
<body>
)";

std::string html_of(const TextTable& table) {
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    std::string out = "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      if (table.used(i))
        out +=
            fmt::format("<{0}{1}>{2}</{0}>", tag, i < table.left() ? " class=\"l\"" : "", escaped(cells[i]));
    return out + "</tr>\n";
  };
  std::string out = "<div class=\"wide\"><table>\n" + row(table.header(), "th");
  for (const auto& cells : table.rows()) out += row(cells, "td");
  return out + "</table></div>\n";
}

/// Which colour is which component, of those that the plan has.
std::string key_of_components(const PlanFacts& facts) {
  std::string out = "<ul class=\"key\">";
  for (size_t c = 0; c < kComponents; ++c) {
    double bytes = 0;
    for (const auto& group : facts.groups) bytes += group.peak.ledger.bytes[c];
    if (bytes > 0)
      out += fmt::format(
          "<li><svg viewBox=\"0 0 12 12\"><rect width=\"12\" height=\"12\" class=\"m{}\"/></svg>{}</li>", c,
          escaped(name_of(static_cast<Component>(c))));
  }
  return out + "</ul>\n";
}

std::string plan_html(const Job& job, const PlanFacts& facts, size_t number) {
  const auto& [plan, time] = facts.candidate;
  std::string out = fmt::format("<h2>Plan {}: {}</h2>\n", number, escaped(describe_speed(job, time)));
  out += html_of(placement_table(facts));
  out += "<h3>The step</h3>\n" + timeline_chart(timeline(job, plan, time)) + html_of(time_table(job, facts));
  out += "<h3>Memory at the fullest moment, in GB of 10<sup>9</sup> bytes</h3>\n" + memory_chart(facts) +
         key_of_components(facts) + html_of(memory_table(facts));
  out += fmt::format("<p>Longest response that fits: {}.</p>\n", escaped(describe_longest(job, facts)));
  out += "<h3>What bounds the stages</h3>\n<dl>";
  for (const auto& stage : time.stages)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(to_string(stage.what)),
                       escaped(describe_bound(stage.bound)));
  return out + "</dl>\n";
}

std::string facts_html(const Report& report) {
  return fmt::format(
      "<p class=\"soft\">{}</p>\n<p class=\"soft\">{}</p>\n<p class=\"soft\">Searched {}.</p>\n",
      escaped(describe_job(report.job)), escaped(describe_cluster(report.cluster)),
      escaped(describe_search(report)));
}

std::string plans_html(const Report& report) {
  if (report.plans.empty()) return "<h2>No plan fits</h2>\n";
  std::string out;
  if (report.plans.size() > 1) {
    std::vector<std::pair<std::string, double>> seconds;
    for (size_t i = 0; i < report.plans.size(); ++i)
      seconds.emplace_back(fmt::format("plan {}", i + 1), report.plans[i].candidate.time.total);
    out += "<h2>The best plans</h2>\n" + seconds_chart(seconds);
  }
  for (size_t i = 0; i < report.plans.size(); ++i) out += plan_html(report.job, report.plans[i], i + 1);
  return out;
}

std::string rejected_html(const Report& report) {
  if (report.rejected.empty()) return {};
  std::string out = "<h2>Set aside</h2>\n<dl>";
  for (const auto& part : set_aside(report.rejected)) {
    for (const auto& each : part.shown)
      out += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(each.what), escaped(each.reason));
    if (part.left_out > 0)
      out += fmt::format("<dt>{}</dt><dd>{} more</dd>", escaped(part.what), part.left_out);
  }
  return out + "</dl>\n";
}

std::string report_body(const Report& report) {
  return facts_html(report) + plans_html(report) + rejected_html(report) + "<h2>Responses of a step</h2>\n" +
         lengths_chart(report.job.lengths);
}

std::string what_if_html(const Report& now, const WhatIfReport& then) {
  std::string out = fmt::format("<h1>What if {}</h1>\n", escaped(then.words));
  std::vector<std::pair<std::string, double>> seconds;
  if (!now.plans.empty()) seconds.emplace_back("now", now.plans[0].candidate.time.total);
  if (then.stay) seconds.emplace_back("with the present plan", *then.stay);
  if (!then.report.plans.empty())
    seconds.emplace_back("with the best plan", then.report.plans[0].candidate.time.total);
  if (!then.why_not_stay.empty())
    out += fmt::format("<p>The present plan does not apply: {}</p>\n", escaped(then.why_not_stay));
  return out + seconds_chart(seconds) + report_body(then.report);
}

}  // namespace

std::string report_html(const Report& report, const std::optional<WhatIfReport>& what_if) {
  std::string out = std::string(kHead) + "<h1>What to run</h1>\n" + report_body(report);
  if (what_if) out += what_if_html(report, *what_if);
  return out + "</body>\n</html>\n";
}

}  // namespace nereus::plan
