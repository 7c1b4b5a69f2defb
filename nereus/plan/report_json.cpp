#include "nereus/plan/report_tables.h"
#include "nereus/plan/timeline.h"

namespace nereus::plan {

namespace {

OrderedJson ledger_json(const Ledger& ledger) {
  OrderedJson json = OrderedJson::object();
  for (size_t i = 0; i < kComponents; ++i)
    json[std::string(name_of(static_cast<Component>(i)))] = ledger.bytes[i];
  json["total"] = ledger.total();
  return json;
}

OrderedJson placement_json(const Placement& p) {
  return {{"model", name_of(p.what.role)},
          {"stage", name_of(p.what.stage)},
          {"devices", p.devices},
          {"dp", p.layout.dp},
          {"pp", p.layout.pp},
          {"tp", p.layout.tp},
          {"micro_batch", p.micro_batch},
          {"recompute", p.recompute},
          {"zero", p.zero},
          {"leaves_when_idle", p.leaves_when_idle}};
}

OrderedJson stage_json(const StageTime& time) {
  return {
      {"model", name_of(time.what.role)}, {"stage", name_of(time.what.stage)},   {"total", time.total()},
      {"compute", time.compute},          {"communication", time.communication}, {"bubble", time.bubble},
      {"optimizer", time.optimizer},      {"overhead", time.overhead},           {"offload", time.offload},
      {"bound", name_of(time.bound)}};
}

OrderedJson time_json(const StepTime& time) {
  OrderedJson stages = OrderedJson::array();
  for (const auto& stage : time.stages) stages.push_back(stage_json(stage));
  return {{"total", time.total},
          {"reward", time.reward},
          {"weight_sync", time.weight_sync},
          {"offload", time.offload},
          {"stages", std::move(stages)}};
}

OrderedJson timeline_json(const std::vector<Span>& spans) {
  OrderedJson json = OrderedJson::array();
  for (const auto& span : spans)
    json.push_back({{"what", span.what}, {"begin", span.begin}, {"end", span.end}});
  return json;
}

OrderedJson group_json(const DeviceGroup& group) {
  return {{"devices", group.devices},
          {"kind", group.kind},
          {"memory", group.memory},
          {"limit", group.peak.limit},
          {"stage", to_string(group.peak.stage)},
          {"kv_pool", group.peak.kv_pool},
          {"ledger", ledger_json(group.peak.ledger)}};
}

OrderedJson plan_json(const Job& job, const PlanFacts& facts) {
  const auto& [plan, time] = facts.candidate;
  OrderedJson placements = OrderedJson::array(), memory = OrderedJson::array();
  for (const auto& placement : plan.placements) placements.push_back(placement_json(placement));
  for (const auto& group : facts.groups) memory.push_back(group_json(group));
  return {{"seconds", time_json(time)},
          {"placements", std::move(placements)},
          {"timeline", timeline_json(timeline(job, plan, time))},
          {"memory", std::move(memory)},
          {"longest_response", facts.longest_response},
          {"longest_response_in_context", facts.longest_in_context}};
}

}  // namespace

OrderedJson report_json(const Report& report) {
  OrderedJson plans = OrderedJson::array(), rejected = OrderedJson::array();
  for (const auto& plan : report.plans) plans.push_back(plan_json(report.job, plan));
  for (const auto& each : report.rejected)
    rejected.push_back({{"what", each.what}, {"reason", each.reason}, {"fits", each.fits}});
  return {{"units", {{"memory", "bytes"}, {"time", "seconds"}, {"length", "tokens"}}},
          {"job", describe_job(report.job)},
          {"cluster", describe_cluster(report.cluster)},
          {"search",
           {{"placements", report.considered},
            {"complete", report.complete},
            {"seconds", report.search_seconds}}},
          {"plans", std::move(plans)},
          {"rejected", std::move(rejected)}};
}

OrderedJson what_if_json(const Report& now, const WhatIfReport& then) {
  OrderedJson json = report_json(now);
  OrderedJson what_if = report_json(then.report);
  what_if["settings"] = then.words;
  what_if["present_plan_seconds"] = then.stay ? OrderedJson(*then.stay) : OrderedJson(nullptr);
  what_if["present_plan_refused"] = then.why_not_stay;
  json["what_if"] = std::move(what_if);
  return json;
}

}  // namespace nereus::plan
