#include "nereus/simulator/step.h"

#include <algorithm>
#include <cmath>

#include "nereus/base/random.h"
#include "nereus/plan/memory.h"
#include "nereus/simulator/device_memory.h"
#include "nereus/simulator/plan_memory.h"
#include "nereus/simulator/reshard.h"
#include "nereus/simulator/stage_setup.h"

namespace nereus::simulator {

namespace {

uint64_t stream_of(plan::ModelStage what, int64_t step) {
  const auto kind = static_cast<uint64_t>(what.role) * 3 + static_cast<uint64_t>(what.stage);
  return 0x57a6e000000 + (static_cast<uint64_t>(step) << 8) + kind;
}

double noise_of(const WorldOptions& world, const Conditions& conditions, plan::ModelStage what) {
  RandomStream random(conditions.seed, stream_of(what, conditions.step));
  return std::exp(world.noise * random.normal());
}

/// Share of what comes and goes that is lost between blocks on a device.
double fragments_of(const WorldOptions& world, const Conditions& conditions, int32_t device) {
  const auto stream =
      0xf0000000000 + (static_cast<uint64_t>(conditions.step) << 20) + static_cast<uint64_t>(device);
  RandomStream random(conditions.seed, stream);
  return world.fragmentation * (0.3 + 0.7 * random.uniform());
}

}  // namespace

class PlanRun::State {
 public:
  State(const WorldOptions& world, cluster::Cluster cluster, plan::Job job, plan::Plan plan)
      : world_(world),
        cluster_(std::move(cluster)),
        job_(std::move(job)),
        plan_(std::move(plan)),
        links_(cluster_, world.link_efficiency, world.network_efficiency, world.storage_gb_s * 1e9),
        memory_(world_, cluster_, job_, plan_) {
    for (const auto& placement : plan_.placements)
      setups_.emplace_back(world_, axes(placement), cluster_, job_, placement);
  }

  const plan::Plan& plan() const { return plan_; }

  double weight_sync() const {
    Reshard all;
    for (const auto& target : plan_.placements) {
      if (target.what.stage == plan::Stage::train) continue;
      const auto* source = plan_.find({target.what.role, plan::Stage::train});
      if (source == nullptr || plan::shares_weights(*source, target)) continue;
      const auto& model = *job_.find(target.what.role);
      const ModelSize size = size_of(model);
      const double trained = model.lora_rank > 0 ? size.adapter / size.layer : 1;
      all.add(reshard(links_, parts_of(*source, size, model.config.layers, source->zero >= 3, {}),
                      parts_of(target, size, model.config.layers, false, {}), job_.weight_bytes * trained));
    }
    const auto finish = drain(links_.capacity(), all.flows);
    const double messages = world_.network_collective_seconds * 10;
    return all.flows.empty() ? 0 : *std::ranges::max_element(finish) + messages;
  }

  StepReport step(const Batches& batches, const Conditions& conditions, double sync) const {
    StepReport report;
    report.weight_sync = sync;
    const MemoryReport memory = memory_.report(sizes_of(batches), fragments(conditions));
    report.peaks = memory.peaks;
    Clock clock{std::vector<double>(static_cast<size_t>(cluster_.devices()), sync), sync, sync, sync, sync};
    for (size_t i = 0; i < setups_.size(); ++i) {
      if (memory.full && memory.full->stage == setups_[i].placement().what) {
        report.out_of_memory = memory.full;
        report.seconds = ready(clock, setups_[i]);
        return report;
      }
      run_stage(setups_[i], batches, conditions, memory, clock, report);
    }
    report.seconds = std::max(clock.trained, clock.scored);
    return report;
  }

 private:
  /// When devices are free and kinds of stages have ended.
  struct Clock {
    std::vector<double> free;
    double synced = 0, generated = 0, scored = 0, trained = 0;
  };

  /// Worked out once for placements in the same layout on the same devices.
  Axes axes(const plan::Placement& placement) const {
    for (const auto& setup : setups_) {
      const auto& known = setup.placement();
      if (known.layout == placement.layout && known.devices == placement.devices) return setup.axes();
    }
    return axes_of(links_, world_, placement);
  }

  double ready(const Clock& clock, const StageSetup& setup) const {
    double start = 0;
    switch (setup.placement().what.stage) {
      case plan::Stage::generate:
        start = clock.synced;
        break;
      case plan::Stage::infer:
        start = clock.generated;
        break;
      case plan::Stage::train:
        start = clock.scored;
        break;
    }
    for (const int32_t d : setup.placement().devices)
      start = std::max(start, clock.free[static_cast<size_t>(d)]);
    return start;
  }

  void run_stage(const StageSetup& setup, const Batches& batches, const Conditions& conditions,
                 const MemoryReport& memory, Clock& clock, StepReport& report) const {
    const auto what = setup.placement().what;
    auto slow = setup.slowness(conditions.slowness);
    for (double& s : slow) s *= conditions.drift * noise_of(world_, conditions, what);
    const double start = ready(clock, setup);
    double end = start + moves(setup);
    switch (what.stage) {
      case plan::Stage::generate:
        report.decoding = generate(setup, batches.lengths(), slow, memory.kv_tokens);
        end += report.decoding.seconds;
        clock.generated = end;
        clock.scored = end + job_.reward_seconds;
        break;
      case plan::Stage::infer:
        end += infer_seconds(setup, dealt(setup, batches), slow);
        clock.scored = std::max(clock.scored, end);
        break;
      case plan::Stage::train:
        end += train_seconds(setup, dealt(setup, batches), slow);
        clock.trained = std::max(clock.trained, end);
        break;
    }
    for (const int32_t d : setup.placement().devices) clock.free[static_cast<size_t>(d)] = end;
    report.stages.push_back({what, start, end});
  }

  /// Fetching and storing the state of a stage that leaves; what was not changed need not be stored.
  double moves(const StageSetup& setup) const {
    const auto& placement = setup.placement();
    if (!placement.leaves_when_idle) return 0;
    const double ways = placement.what.stage == plan::Stage::train ? 2 : 1;
    double longest = 0;
    for (int32_t p = 0; p < setup.stages(); ++p) {
      const auto memory = rank_memory(world_, job_, placement, p, 0, 1);
      const double bandwidth = setup.kind(p).host_bandwidth * world_.link_efficiency;
      longest = std::max(longest, ways * memory.resident / bandwidth);
    }
    return longest;
  }

  static const StageBatches& dealt(const StageSetup& setup, const Batches& batches) {
    const bool trains = setup.placement().what.stage == plan::Stage::train;
    const auto samples = static_cast<int64_t>(batches.lengths().responses.size());
    return batches.dealt(trains ? std::min<int64_t>(setup.job().minibatches, samples) : 1, setup.replicas(),
                         setup.placement().micro_batch);
  }

  std::vector<BatchSize> sizes_of(const Batches& batches) const {
    std::vector<BatchSize> sizes;
    for (const auto& setup : setups_) {
      BatchSize& size = sizes.emplace_back();
      if (setup.placement().what.stage == plan::Stage::generate) continue;
      for (const auto& part : dealt(setup, batches))
        for (const auto& replica : part) {
          size.in_step = std::max(size.in_step, static_cast<int64_t>(replica.size()));
          for (const auto& batch : replica) size.largest = std::max(size.largest, batch.work.tokens);
        }
    }
    return sizes;
  }

  std::vector<double> fragments(const Conditions& conditions) const {
    std::vector<double> shares;
    for (int32_t device = 0; device < cluster_.devices(); ++device)
      shares.push_back(fragments_of(world_, conditions, device));
    return shares;
  }

  WorldOptions world_;
  cluster::Cluster cluster_;
  plan::Job job_;
  plan::Plan plan_;
  Links links_;
  PlanMemory memory_;
  std::vector<StageSetup> setups_;
};

PlanRun::PlanRun(const WorldOptions& world, cluster::Cluster cluster, plan::Job job, plan::Plan plan)
    : state_(std::make_unique<State>(world, std::move(cluster), std::move(job), std::move(plan))) {}
PlanRun::~PlanRun() = default;
PlanRun::PlanRun(PlanRun&&) noexcept = default;
PlanRun& PlanRun::operator=(PlanRun&&) noexcept = default;

double PlanRun::weight_sync() const {
  return state_->weight_sync();
}

StepReport PlanRun::step(const Batches& batches, const Conditions& conditions, double weight_sync) const {
  return state_->step(batches, conditions, weight_sync);
}

const plan::Plan& PlanRun::plan() const {
  return state_->plan();
}

}  // namespace nereus::simulator
