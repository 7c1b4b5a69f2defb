#include "nereus/simulator/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nereus/plan/text_table.h"

namespace nereus::simulator {

namespace {

double divided(double sum, double by) {
  return by > 0 ? sum / by : 0;
}

std::string seconds(double value) {
  return std::isfinite(value) ? plan::short_number(value) : "-";
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

const PolicySummary* find(const std::vector<PolicySummary>& summaries, const std::string& policy) {
  const auto found = std::ranges::find(summaries, policy, &PolicySummary::policy);
  return found == summaries.end() ? nullptr : &*found;
}

/// "-31.2 %": what ours takes less or more than this one.
std::string against(const PolicySummary* ours, const PolicySummary& other) {
  if (ours == nullptr || ours == &other || !std::isfinite(other.step_latency) || other.step_latency <= 0)
    return "";
  return fmt::format("{:+.1f} %", 100 * (ours->step_latency / other.step_latency - 1));
}

OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson json_of(const PolicySummary& summary) {
  return {{"policy", summary.policy},
          {"step_latency_seconds", number(summary.step_latency)},
          {"step_latency_least", number(summary.least)},
          {"step_latency_most", number(summary.most)},
          {"step_seconds", number(summary.step_seconds)},
          {"samples_per_second", summary.samples_per_second},
          {"waiting_share", summary.waiting},
          {"changing_share", summary.changing},
          {"wasted_share", summary.wasted},
          {"changes", summary.changes},
          {"change_seconds", summary.change_seconds},
          {"out_of_memory", summary.out_of_memory},
          {"steps", summary.steps},
          {"hours", summary.hours},
          {"note", summary.note}};
}

OrderedJson json_of(const Outcome& outcome) {
  OrderedJson changes = OrderedJson::array();
  for (const auto& change : outcome.changes)
    changes.push_back({{"time", change.time},
                       {"step", change.step},
                       {"seconds", change.seconds},
                       {"slower", change.slower},
                       {"moved_bytes", change.moved},
                       {"stored_bytes", change.stored},
                       {"devices", change.devices},
                       {"machines_lost", change.lost},
                       {"reason", change.reason},
                       {"plan", change.plan}});
  return {{"seed", outcome.seed},
          {"steps", outcome.steps},
          {"elapsed", outcome.elapsed},
          {"waiting", outcome.waiting},
          {"wasted", outcome.wasted},
          {"starting", outcome.starting},
          {"lost_steps", outcome.lost_steps},
          {"out_of_memory", outcome.out_of_memory},
          {"preempted_sequences", outcome.preempted},
          {"decision_seconds", outcome.search_seconds},
          {"first_plan", outcome.first_plan},
          {"note", outcome.note},
          {"changes", changes}};
}

}  // namespace

PolicySummary summary_of(const std::vector<Outcome>& outcomes) {
  PolicySummary summary;
  summary.policy = outcomes.front().policy;
  const auto runs = static_cast<double>(outcomes.size());
  double elapsed = 0, changes = 0, change_seconds = 0;
  summary.least = outcomes.front().step_latency();
  for (const auto& outcome : outcomes) {
    summary.step_latency += outcome.step_latency() / runs;
    summary.least = std::min(summary.least, outcome.step_latency());
    summary.most = std::max(summary.most, outcome.step_latency());
    summary.step_seconds += outcome.step_seconds() / runs;
    summary.samples_per_second += outcome.samples_per_second() / runs;
    summary.steps += static_cast<double>(outcome.steps) / runs;
    summary.out_of_memory += outcome.out_of_memory;
    summary.waiting += outcome.waiting;
    summary.wasted += outcome.wasted;
    elapsed += outcome.elapsed;
    changes += static_cast<double>(outcome.changes.size());
    change_seconds += outcome.change_seconds();
    if (summary.note.empty()) summary.note = outcome.note;
  }
  summary.waiting = divided(summary.waiting, elapsed);
  summary.wasted = divided(summary.wasted, elapsed);
  summary.changing = divided(change_seconds, elapsed);
  summary.changes = changes / runs;
  summary.change_seconds = divided(change_seconds, changes);
  summary.hours = elapsed / runs / 3600;
  return summary;
}

std::string report_text(const SimulationReport& report) {
  std::vector<PolicySummary> summaries;
  for (const auto& outcomes : report.outcomes) summaries.push_back(summary_of(outcomes));
  const auto* ours = find(summaries, "adaptive");
  plan::TextTable table({"policy", "step s", "least", "most", "alone s", "samples/s", "steps", "hours",
                         "waiting", "wasted", "changes", "s each", "changing", "OOM", "adaptive"},
                        1);
  for (const auto& s : summaries)
    table.add({s.policy, seconds(s.step_latency), seconds(s.least), seconds(s.most), seconds(s.step_seconds),
               plan::short_number(s.samples_per_second), plan::short_number(s.steps),
               plan::short_number(s.hours), percent(s.waiting), percent(s.wasted),
               plan::short_number(s.changes), seconds(s.change_seconds),
               fmt::format("{:.3f} %", 100 * s.changing), std::to_string(s.out_of_memory), against(ours, s)});
  const auto& scenario = report.scenario;
  std::string text = fmt::format("{}: {} steps of {} samples, {} machines of {} {} at most, seeds {}\n\n",
                                 scenario.name, scenario.steps, scenario.job.samples(), scenario.machines(),
                                 scenario.machine().devices, scenario.machine().kind.name, scenario.seeds);
  text += table.text();
  text +=
      "\nstep s: all time that passed, for each step that was kept; alone: of the steps themselves; "
      "adaptive: how much less (-) it takes\n";
  for (const auto& s : summaries)
    if (!s.note.empty()) text += fmt::format("{}: {}\n", s.policy, s.note);
  return text;
}

OrderedJson report_json(const SimulationReport& report) {
  OrderedJson policies = OrderedJson::array();
  for (const auto& outcomes : report.outcomes) {
    OrderedJson policy = json_of(summary_of(outcomes));
    policy["runs"] = OrderedJson::array();
    for (const auto& outcome : outcomes) policy["runs"].push_back(json_of(outcome));
    policies.push_back(std::move(policy));
  }
  return {{"scenario", report.scenario.name},
          {"steps", report.scenario.steps},
          {"samples", report.scenario.job.samples()},
          {"policies", policies}};
}

}  // namespace nereus::simulator
