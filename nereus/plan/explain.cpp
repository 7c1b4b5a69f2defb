#include "nereus/plan/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "nereus/plan/memory.h"

namespace nereus::plan {
namespace {

std::string name_of(const Family& family) {
  const Layout& layout = family.grid->layout;
  return fmt::format("{} dp {} pp {} tp {}", to_string(family.what), layout.dp, layout.pp, layout.tp);
}

/// The family's member that uses the least time and the most memory: what one would write down first.
Placement plain(const Family& family) {
  return {.what = family.what,
          .devices = family.grid->devices,
          .layout = family.grid->layout,
          .micro_batch = 1,
          .recompute = false,
          .zero = 1,
          .leaves_when_idle = false};
}

const Option* fastest(const Family& family) {
  const auto found = std::min_element(family.options->begin(), family.options->end(),
                                      [](const Option& a, const Option& b) { return a.seconds < b.seconds; });
  return found == family.options->end() ? nullptr : &*found;
}

/// A family that fits and was not chosen.
Rejection slower(const Job& job, const Calibration& calibration, const Family& family,
                 const Placement& chosen, double chosen_seconds) {
  const Option& best = *fastest(family);
  const StageTime time = stage_time(job, best.placement, best.grid->links, 1e18, calibration);
  if (best.seconds <= chosen_seconds) {
    return {name_of(family),
            fmt::format("{:.2f} s against {:.2f} s with pp {} tp {}: faster alone, but not "
                        "together with the other stages",
                        best.seconds, chosen_seconds, chosen.layout.pp, chosen.layout.tp),
            true};
  }
  return {name_of(family),
          fmt::format("{:.2f} s against {:.2f} s with pp {} tp {}: bound by {}", best.seconds, chosen_seconds,
                      chosen.layout.pp, chosen.layout.tp, plan::name_of(time.bound)),
          true};
}

/// What keeps the fastest options of all stages from being together; nothing where a stage has none.
void add_joint(const cluster::Cluster& cluster, const Job& job, const std::vector<Family>& families,
               std::vector<Rejection>& result) {
  Plan together;
  for (const ModelStage what : model_stages(job)) {
    const Option* best = nullptr;
    for (const Family& family : families) {
      const Option* option = family.what == what ? fastest(family) : nullptr;
      if (option != nullptr && (best == nullptr || option->seconds < best->seconds)) best = option;
    }
    if (best == nullptr) return;
    together.placements.push_back(placement_of(*best));
  }
  const Status status = check_memory(cluster, job, together);
  if (!status) result.push_back({"the fastest of each stage together", status.error().message});
}

}  // namespace

std::vector<Rejection> explain(const cluster::Cluster& cluster, const Job& job,
                               const Calibration& calibration, const std::vector<Family>& families,
                               const Plan* chosen, size_t count) {
  std::vector<Rejection> result;
  if (chosen == nullptr && count > 0) add_joint(cluster, job, families, result);
  const StepTime time = chosen != nullptr ? predict(cluster, job, *chosen, calibration) : StepTime{};
  for (const Family& family : families) {
    if (result.size() >= count) break;
    const Placement* instead = chosen != nullptr ? chosen->find(family.what) : nullptr;
    if (instead != nullptr && instead->layout == family.grid->layout) continue;
    const Status status = check_memory(cluster, job, {{plain(family)}});
    if (!status) {
      result.push_back({name_of(family), status.error().message});
    } else if (instead != nullptr && fastest(family) != nullptr) {
      result.push_back(slower(job, calibration, family, *instead, time.find(family.what)->total()));
    }
  }
  return result;
}

}  // namespace nereus::plan
