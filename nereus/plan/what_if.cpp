#include "nereus/plan/what_if.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "nereus/cluster/cluster_file.h"
#include "nereus/plan/job_file.h"

namespace nereus::plan {

namespace {

/// Short names of what is asked most.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort = {{
    {"mean_length", "lengths.mean_response"},
    {"max_length", "lengths.max_response"},
    {"prompts", "job.prompts"},
    {"completions", "job.completions"},
}};

std::string full_name(const std::string& name) {
  const auto found =
      std::ranges::find(kShort, name, [](const auto& pair) { return std::string(pair.first); });
  return found == kShort.end() ? name : std::string(found->second);
}

Status set_devices(WhatIf& what_if, const std::string& text) {
  const auto value = config::value_from_text(text, config::KeyKind::integer);
  const auto* count = std::get_if<int64_t>(&value);
  if (count == nullptr || *count < 1 || *count > (1 << 20))
    return fail("--what-if devices: expected an integer from 1 to 1048576, found \"{}\"", text);
  what_if.devices = static_cast<int32_t>(*count);
  return {};
}

/// Why a plan cannot run; empty where it can.
std::string why_not(const Plan& plan, const cluster::Cluster& cluster, const Job& job) {
  for (const auto& placement : plan.placements)
    for (const int32_t device : placement.devices)
      if (device >= cluster.devices())
        return fmt::format("it runs {} on device {}, which is not there", to_string(placement.what), device);
  if (plan.placements.size() != model_stages(job).size()) return "the job has other models";
  const auto status = check_memory(cluster, job, plan);
  return status ? "" : status.error().message;
}

}  // namespace

Result<WhatIf> parse_what_if(const std::vector<std::string>& settings) {
  WhatIf what_if;
  what_if.words = fmt::format("{}", fmt::join(settings, " "));
  for (const auto& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) return fail("--what-if {}: expected NAME=VALUE", setting);
    const std::string typed = setting.substr(0, equals), value = setting.substr(equals + 1);
    const std::string name = full_name(typed);
    if (name == "devices") {
      if (auto status = set_devices(what_if, value); !status) return pass(status);
    } else if (name.find('.') == std::string::npos) {
      return fail(
          "--what-if {}: expected devices, mean_length, max_length, prompts, completions or a key such as "
          "lengths.prompt",
          typed);
    } else {
      const bool of_cluster = name.starts_with("machine.") || name.starts_with("network.");
      (of_cluster ? what_if.cluster : what_if.job).emplace_back(name, value);
    }
  }
  return what_if;
}

Result<Inputs> read_inputs(const std::filesystem::path& cluster_file, const std::filesystem::path& job_file,
                           const WhatIf& what_if) {
  auto cluster = cluster::read_cluster(cluster_file, what_if.cluster);
  if (!cluster) return pass(cluster);
  auto job = read_job(job_file, what_if.job);
  if (!job) return pass(job);
  if (what_if.devices) *cluster = cluster::with_devices(*cluster, *what_if.devices);
  return Inputs{std::move(*cluster), std::move(*job)};
}

WhatIfReport answer(const WhatIf& what_if, const Inputs& inputs, const Report& now,
                    const Calibration& calibration, const SearchOptions& options, const Clock& clock) {
  const auto& [cluster, job] = inputs;
  WhatIfReport result;
  result.words = what_if.words;
  const Plan* plan = now.plans.empty() ? nullptr : &now.plans[0].candidate.plan;
  if (plan != nullptr) result.why_not_stay = why_not(*plan, cluster, job);
  const bool stays = plan != nullptr && result.why_not_stay.empty();
  if (stays) result.stay = predict(cluster, job, *plan, calibration).total;
  result.report = make_report(cluster, job, calibration, options, clock, stays ? plan : nullptr);
  return result;
}

}  // namespace nereus::plan
