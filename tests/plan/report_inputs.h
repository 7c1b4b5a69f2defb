#pragma once

#include "nereus/base/clock.h"
#include "nereus/cluster/cluster_file.h"
#include "nereus/plan/job_file.h"
#include "nereus/plan/report.h"
#include "nereus/plan/what_if.h"

namespace nereus::plan {

/// PPO of Llama-3-8B on two machines of eight A100-80, or other values.
inline Inputs report_inputs(const config::Overrides& cluster = {}, const config::Overrides& job = {}) {
  constexpr const char* kCluster =
      "[[machine]]\ncount = 2\ndevice = \"A100-80\"\nnetwork_gb_s = 100\nhost_memory_gb = 2000\n";
  constexpr const char* kJob =
      "[job]\nalgorithm = \"ppo\"\nprompts = 64\ncompletions = 4\n[actor]\nmodel = \"llama-3-8b\"\n"
      "[critic]\nmodel = \"llama-3-8b\"\n[reference]\nmodel = \"llama-3-8b\"\n[reward]\nmodel = "
      "\"llama-3-8b\"\n";
  return {value_or_throw(cluster::parse_cluster(kCluster, "c.toml", cluster)),
          value_or_throw(parse_job(kJob, "j.toml", ".", job))};
}

inline SearchOptions few_options() {
  SearchOptions options;
  options.top = 3;
  options.explain = 1000;
  return options;
}

inline Report report_of(const Inputs& inputs) {
  return make_report(inputs.cluster, inputs.job, Calibration{}, few_options(), SteadyClock());
}

}  // namespace nereus::plan
