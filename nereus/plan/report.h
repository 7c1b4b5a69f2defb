#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/base/json.h"
#include "nereus/plan/search.h"

namespace nereus::plan {

/// Devices of one kind that hold the same at their fullest moment, to a thousandth of their memory.
struct DeviceGroup {
  std::vector<int32_t> devices;  ///< ascending
  DevicePeak peak;               ///< of the fullest of them
  std::string kind;              ///< "A100-80"
  double memory = 0;             ///< bytes of each device
};

/// A plan with what a reader wants to know about it.
struct PlanFacts {
  Candidate candidate;
  std::vector<DeviceGroup> groups;  ///< of the devices that it uses
  int64_t longest_response = 0;     ///< tokens that still fit in memory
  int64_t longest_in_context = 0;   ///< and that the models' contexts have room for
};

/// What a search has found about a job on a cluster.
struct Report {
  cluster::Cluster cluster;
  Job job;
  std::vector<PlanFacts> plans;  ///< fastest first; empty where nothing fits
  std::vector<Rejection> rejected;
  int64_t considered = 0;
  bool complete = true;
  double search_seconds = 0;
};

/// `current`, where given, is among the plans that are considered.
Report make_report(const cluster::Cluster& cluster, const Job& job, const Calibration& calibration,
                   const SearchOptions& options, const Clock& clock, const Plan* current = nullptr);

/// A question beside the report: the same with other values.
struct WhatIfReport {
  std::string words;           ///< "devices=64 mean_length=4096"
  Report report;               ///< the best plan then
  std::optional<double> stay;  ///< seconds of a step with the present plan; absent where it does not apply
  std::string why_not_stay;    ///< where `stay` is absent: what does not fit
};

/// For a terminal. Memory in GB of 10^9 bytes.
std::string report_text(const Report& report, bool explain);
std::string what_if_text(const Report& now, const WhatIfReport& then, bool explain);

/// Bytes and seconds, as they are.
OrderedJson report_json(const Report& report);
OrderedJson what_if_json(const Report& now, const WhatIfReport& then);

/// One self-contained page with charts: no script, nothing from the network.
std::string report_html(const Report& report, const std::optional<WhatIfReport>& what_if);

}  // namespace nereus::plan
