#include "nereus/simulator/transition.h"

#include <algorithm>
#include <set>

#include "nereus/simulator/reshard.h"

namespace nereus::simulator {

namespace {

class Transition {
 public:
  Transition(const Links& links, const plan::Job& job, const TransitionCase& change)
      : links_(links), job_(job), change_(change) {}

  void add_trained(const plan::Placement& to) {
    const auto* from = source(to.what);
    const auto& model = *job_.find(to.what.role);
    const double adapter = model.lora_rank > 0 ? size_of(model).adapter / size_of(model).layer : 1;
    const double masters = job_.weight_bytes < 4 ? 4 : 0;
    add(model, change_.from_storage ? nullptr : from, to, masters + 8, Kind::optimizer, adapter, true);
    add(model, from, to, job_.weight_bytes, Kind::weights, 1, model.lora_rank == 0);
  }

  void add_frozen(const plan::Placement& to) {
    add(*job_.find(to.what.role), source(to.what), to, job_.weight_bytes, Kind::weights, 1, false);
  }

  Reshard take() { return std::move(all_); }
  bool state_lost() const { return state_lost_; }

 private:
  enum class Kind : uint8_t { weights, optimizer };

  const plan::Placement* source(plan::ModelStage what) const {
    return change_.from == nullptr ? nullptr : change_.from->find(what);
  }

  static bool sharded(const plan::Placement& placement, Kind kind) {
    return placement.what.stage == plan::Stage::train && placement.zero >= (kind == Kind::optimizer ? 1 : 3);
  }

  void add(const plan::Model& model, const plan::Placement* from, const plan::Placement& to, double bytes,
           Kind kind, double share, bool trained) {
    const ModelSize size = size_of(model);
    const auto target = parts_of(to, size, model.config.layers, sharded(to, kind), {});
    std::vector<Part> held;
    if (from == nullptr) {
      held = target;
      for (auto& part : held) part.holders.clear();
    } else {
      held = parts_of(*from, size, model.config.layers, sharded(*from, kind), change_.lost);
      const bool gap = std::ranges::any_of(held, [](const Part& part) { return part.holders.empty(); });
      state_lost_ = state_lost_ || (gap && trained);
    }
    all_.add(reshard(links_, held, target, bytes * share));
  }

  const Links& links_;
  const plan::Job& job_;
  const TransitionCase& change_;
  Reshard all_;
  bool state_lost_ = false;
};

/// The most that one device receives.
double received(const Links& links, const std::vector<Flow>& flows) {
  std::vector<double> bytes(links.capacity().size(), 0);
  double most = 0;
  for (const auto& flow : flows)
    if (!flow.links.empty()) {
      auto& at = bytes[static_cast<size_t>(flow.links.back())];
      most = std::max(most, at += flow.bytes);
    }
  return most;
}

}  // namespace

TransitionReport transition(const WorldOptions& world, const Links& links, const plan::Job& job,
                            const TransitionCase& change) {
  Transition work(links, job, change);
  size_t ranks = 0;
  for (const auto& to : change.to->placements) {
    ranks = std::max(ranks, to.devices.size());
    const bool trained = job.find(to.what.role)->trained();
    if (to.what.stage == plan::Stage::train) work.add_trained(to);
    if (!trained) work.add_frozen(to);
  }
  TransitionReport report;
  report.state_lost = work.state_lost();
  const Reshard all = work.take();
  report.moved = all.moved;
  report.stored = all.stored;
  double transfer = 0;
  for (const double end : drain(links.capacity(), all.flows)) transfer = std::max(transfer, end);
  report.seconds = transfer + world.group_seconds + world.group_rank_seconds * static_cast<double>(ranks) +
                   received(links, all.flows) / (world.verify_gb_s * 1e9) + world.warm_up_seconds;
  return report;
}

}  // namespace nereus::simulator
