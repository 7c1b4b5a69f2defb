#include "nereus/plan/report_tables.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "nereus/plan/model_size.h"
#include "nereus/plan/timeline.h"

namespace nereus::plan {

namespace {

/// Empty for what does not show at two digits, so that a table is not full of zeros.
std::string seconds_cell(double seconds) {
  return seconds < 0.005 ? "" : short_number(seconds);
}

std::string gigabytes_cell(double bytes) {
  return bytes < 0.005 * kGiga ? "" : short_number(bytes / kGiga);
}

std::string model_words(const Model& model) {
  std::string text =
      fmt::format("{} of {} B parameters", name_of(model.role), short_number(parameters(model) / 1e9));
  if (model.lora_rank > 0) text += fmt::format(" (LoRA of rank {})", model.lora_rank);
  return text;
}

std::vector<int32_t> sorted(std::vector<int32_t> devices) {
  std::ranges::sort(devices);
  return devices;
}

}  // namespace

std::string describe_job(const Job& job) {
  std::vector<std::string> models;
  for (const auto& model : job.models) models.push_back(model_words(model));
  return fmt::format(
      "{}; {} prompts x {} completions; prompts of {}, responses of {} tokens on average, at most {}",
      fmt::join(models, ", "), grouped(job.prompts), grouped(job.completions), grouped(job.lengths.prompt),
      grouped(std::lround(job.lengths.mean_response())), grouped(job.lengths.max_response));
}

std::string describe_cluster(const cluster::Cluster& cluster) {
  std::vector<std::pair<std::string, int64_t>> kinds;
  for (const auto& machine : cluster.machines) {
    const std::string words = fmt::format("{} {}", machine.devices, machine.kind.name);
    if (kinds.empty() || kinds.back().first != words) kinds.emplace_back(words, 0);
    ++kinds.back().second;
  }
  std::vector<std::string> parts;
  for (const auto& [words, count] : kinds)
    parts.push_back(fmt::format("{} machine{} of {}", grouped(count), count == 1 ? "" : "s", words));
  return fmt::format("{} device{}: {}", grouped(cluster.devices()), cluster.devices() == 1 ? "" : "s",
                     fmt::join(parts, ", "));
}

std::string describe_search(const Report& report) {
  return fmt::format("{} placements in {} ms{}", grouped(report.considered),
                     short_number(1000 * report.search_seconds),
                     report.complete ? "" : "; not exhaustive (deadline or beam)");
}

std::string describe_speed(const Job& job, const StepTime& time) {
  const auto samples = static_cast<double>(job.samples());
  return fmt::format("{} s a step: {} samples/s, {} response tokens/s", short_number(time.total),
                     short_number(samples / time.total),
                     short_number(samples * job.lengths.mean_response() / time.total));
}

std::string describe_longest(const Job& job, const PlanFacts& facts) {
  std::string text = fmt::format("{} tokens (the job's limit is {})", grouped(facts.longest_response),
                                 grouped(job.lengths.max_response));
  if (facts.longest_in_context < facts.longest_response)
    text += fmt::format("; the models' contexts have room for {}", grouped(facts.longest_in_context));
  return text;
}

std::string describe_bound(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "compute";
    case Bound::memory_bandwidth:
      return "memory bandwidth";
    case Bound::link:
      return "links between devices";
    case Bound::tail:
      return "the longest responses: more devices do not help";
  }
  return "";
}

TextTable placement_table(const PlanFacts& facts) {
  TextTable table(
      {"model and stage", "devices", "dp", "pp", "tp", "micro-batch", "recompute", "zero", "when idle"}, 2);
  for (const auto& p : facts.candidate.plan.placements) {
    const bool train = p.what.stage == Stage::train;
    const auto number = [](int32_t value) { return fmt::format("{}", value); };
    table.add({to_string(p.what), short_ranges(sorted(p.devices)), number(p.layout.dp), number(p.layout.pp),
               number(p.layout.tp), p.what.stage == Stage::generate ? "" : number(p.micro_batch),
               train ? (p.recompute ? "yes" : "no") : "", train ? number(p.zero) : "",
               p.leaves_when_idle ? "leaves" : "stays"});
  }
  return table;
}

TextTable time_table(const Job& job, const PlanFacts& facts) {
  TextTable table({"part of the step", "begins", "seconds", "compute", "links", "bubble", "optimizer",
                   "fixed", "offload", "bound"},
                  1);
  const auto& time = facts.candidate.time;
  for (const auto& span : timeline(job, facts.candidate.plan, time)) {
    std::vector<std::string> row = {span.what, short_number(span.begin), short_number(span.end - span.begin)};
    const auto same = [&](const StageTime& each) { return to_string(each.what) == span.what; };
    const auto found = std::ranges::find_if(time.stages, same);
    row.resize(table.header().size());
    if (found != time.stages.end()) {
      const double parts[] = {found->compute,   found->communication, found->bubble,
                              found->optimizer, found->overhead,      found->offload};
      for (size_t i = 0; i < std::size(parts); ++i) row[3 + i] = seconds_cell(parts[i]);
      row.back() = std::string(name_of(found->bound));
    }
    table.add(std::move(row));
  }
  return table;
}

TextTable memory_table(const PlanFacts& facts) {
  std::vector<std::string> header = {"devices", "kind", "fullest in"};
  for (size_t i = 0; i < kComponents; ++i) header.emplace_back(name_of(static_cast<Component>(i)));
  header.insert(header.end(), {"total", "may fill", "of"});
  TextTable table(header, 3);
  for (const auto& group : facts.groups) {
    const auto& peak = group.peak;
    std::vector<std::string> row = {short_ranges(group.devices), group.kind, to_string(peak.stage)};
    for (const double bytes : peak.ledger.bytes) row.push_back(gigabytes_cell(bytes));
    for (const double bytes : {peak.ledger.total(), peak.limit, group.memory})
      row.push_back(short_number(bytes / kGiga));
    table.add(std::move(row));
  }
  return table;
}

std::vector<SetAside> set_aside(const std::vector<Rejection>& rejected) {
  constexpr size_t kShown = 4;  // of those that do not fit, and of the others
  std::vector<SetAside> result;
  for (const bool fits : {false, true}) {
    std::vector<size_t> shown(result.size() + rejected.size(), 0);
    for (const auto& each : rejected) {
      if (each.fits != fits) continue;
      const std::string what = each.what.substr(0, each.what.find(" dp "));
      auto found = std::ranges::find(result, what, &SetAside::what);
      if (found == result.end()) found = result.insert(result.end(), {what, {}, 0});
      size_t& count = shown[static_cast<size_t>(found - result.begin())];
      if (++count <= kShown)
        found->shown.push_back(each);
      else
        ++found->left_out;
    }
  }
  return result;
}

}  // namespace nereus::plan
