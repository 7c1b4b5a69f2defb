#include "nereus/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "nereus/plan/text_table.h"

namespace nereus::plan {

const Placement* Plan::find(ModelStage what) const {
  const auto found =
      std::find_if(placements.begin(), placements.end(), [&](const Placement& p) { return p.what == what; });
  return found == placements.end() ? nullptr : &*found;
}

Plan state_of(Plan plan) {
  for (Placement& placement : plan.placements) {
    placement.micro_batch = 1;
    placement.recompute = false;
  }
  return plan;
}

LayerRange layers_of_stage(int64_t layers, int32_t pp, int32_t index) {
  const int64_t each = layers / pp, more = layers % pp;
  const int64_t first = index * each + std::min<int64_t>(index, more);
  return {first, first + each + (index < more ? 1 : 0)};
}

std::string to_string(const Placement& placement) {
  std::vector<int32_t> devices = placement.devices;
  std::sort(devices.begin(), devices.end());
  const Layout& layout = placement.layout;
  std::string text =
      fmt::format("{}: dp {}, pp {}, tp {} on {} device{} {}", to_string(placement.what), layout.dp,
                  layout.pp, layout.tp, devices.size(), devices.size() == 1 ? "" : "s", ranges(devices));
  if (placement.what.stage != Stage::generate) text += fmt::format(", micro-batch {}", placement.micro_batch);
  if (placement.what.stage == Stage::train) {
    if (placement.recompute) text += ", recompute";
    text += fmt::format(", zero {}", placement.zero);
  }
  if (placement.leaves_when_idle) text += ", leaves when idle";
  return text;
}

}  // namespace nereus::plan
