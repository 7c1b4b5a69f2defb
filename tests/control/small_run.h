#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/control/controller.h"
#include "nereus/plan/known_models.h"

namespace nereus::control::test {

inline cluster::Cluster machines(std::vector<std::string> names) {
  cluster::Cluster result;
  for (std::string& name : names) {
    result.machines.push_back({.name = std::move(name),
                               .kind = *cluster::known_device("A100-80"),
                               .devices = 8,
                               .host_memory = 1e12,
                               .network_bandwidth = 1e11});
  }
  return result;
}

inline plan::Job job(double mean = 400) {
  plan::Job result;
  result.models = {{.role = plan::Role::actor, .config = *plan::known_model("llama-3-8b")},
                   {.role = plan::Role::reference, .config = *plan::known_model("llama-3-8b")}};
  result.prompts = 64, result.completions = 8;
  result.lengths = plan::lognormal_lengths(200, mean, 0.6, 4096);
  return result;
}

/// What transitions to a plan cost, wherever they begin.
inline TransitionCost costs(std::function<Result<double>(const plan::Plan&)> of) {
  return [of](const Origin&) { return [of](const plan::Plan& to, double) { return of(to); }; };
}
inline TransitionCost costs(double seconds) {
  return costs([seconds](const plan::Plan&) -> Result<double> { return seconds; });
}

/// A job that really takes what the planner's model says with hidden factors and noise; it reports only what
/// a real job would.
class World {
 public:
  explicit World(double noise = 0, uint64_t seed = 1) : noise_(noise), random_(seed, 1) {}

  plan::Calibration hidden;

  Observation step(const cluster::Cluster& cluster, const plan::Job& now, const plan::Plan& plan,
                   int64_t left) {
    const plan::StepTime time = plan::predict(cluster, now, plan, hidden);
    Observation seen{
        .step = steps_++, .steps_left = left, .stages = {}, .lengths = now.lengths, .memory = {}};
    for (const plan::StageTime& stage : time.stages) {
      const double seconds = stage.total() * std::max(0.5, 1 + noise_ * random_.normal());
      seen.stages.push_back({.what = stage.what, .start = clock_, .end = clock_ + seconds});
      clock_ += seconds;
      seen.seconds += seconds;
    }
    seen.seconds += time.weight_sync + time.reward;
    clock_ += time.weight_sync + time.reward;
    seen.now = clock_;
    for (int32_t device = 0; device < cluster.devices(); ++device)
      seen.memory.push_back({device, 0.8 * cluster.kind(device).memory, cluster.kind(device).memory});
    return seen;
  }

 private:
  double noise_, clock_ = 0;
  RandomStream random_;
  int64_t steps_ = 0;
};

inline int changes(const Controller& controller) {
  return static_cast<int>(std::count_if(controller.log().begin() + 1, controller.log().end(),
                                        [](const Decision& d) { return d.action == Action::change; }));
}

inline int run(Controller& controller, World& world, const cluster::Cluster& cluster, int steps,
               const plan::Job& now) {
  for (int i = 0; i < steps; ++i)
    controller.observe(cluster, world.step(cluster, now, *controller.plan(), steps - i));
  return changes(controller);
}

}  // namespace nereus::control::test
