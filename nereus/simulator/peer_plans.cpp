#include "nereus/simulator/peer_plans.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "nereus/plan/memory.h"
#include "nereus/plan/time.h"

namespace nereus::simulator {

namespace {

using plan::Role;
using plan::Stage;

constexpr size_t kJudged = 24;  ///< plans that the judge sees

/// Plans with their predicted seconds, of which the fastest are kept.
class Best {
 public:
  void add(double seconds, plan::Plan plan) {
    plans_.emplace(seconds, std::move(plan));
    if (plans_.size() > kJudged) plans_.erase(std::prev(plans_.end()));
  }
  bool wants(double seconds) const { return plans_.size() < kJudged || seconds < plans_.rbegin()->first; }

  Result<plan::Plan> judged(const Judge& judge, const char* what) const {
    const plan::Plan* best = nullptr;
    double least = 0;
    for (const auto& [predicted, plan] : plans_) {
      const double seconds = judge(plan);
      if (best != nullptr && seconds >= least) continue;
      best = &plan;
      least = seconds;
    }
    if (best == nullptr) return fail("no plan with {} fits", what);
    return *best;
  }

 private:
  std::multimap<double, plan::Plan> plans_;
};

plan::Placement placed(plan::ModelStage what, plan::Layout layout, int32_t first) {
  plan::Placement placement{what, std::vector<int32_t>(static_cast<size_t>(layout.ranks())), layout};
  std::iota(placement.devices.begin(), placement.devices.end(), first);
  return placement;
}

/// The stages that share one pool.
using PoolStages = std::vector<plan::ModelStage>;

/// What one pool does at a size: its placements from device 0 on, and the time of its turns.
struct PoolPlan {
  std::vector<plan::Placement> placements;
  double generate = 0, infer = 0, train = 0;

  double total() const { return generate + infer + train; }
};

class SeparatePools {
 public:
  SeparatePools(const cluster::Cluster& cluster, const plan::Job& job) : cluster_(cluster), job_(job) {
    // Whole machines where there are many.
    unit_ = cluster.devices() > 64 ? cluster.machines.front().devices : cluster.devices() > 16 ? 4 : 1;
  }

  Best search() {
    for (const bool reference_with_actor : {false, true})
      for (const bool reward_with_critic : {false, true})
        divide(pools_of(reference_with_actor, reward_with_critic));
    return std::move(best_);
  }

 private:
  std::vector<PoolStages> pools_of(bool reference_with_actor, bool reward_with_critic) const {
    std::vector<PoolStages> pools(5);  // generation, actor, critic, reference, reward
    for (const auto what : plan::model_stages(job_)) {
      size_t pool = 1;
      if (what.stage == Stage::generate)
        pool = 0;
      else if (what.role == Role::critic)
        pool = 2;
      else if (what.role == Role::reference)
        pool = reference_with_actor ? 1 : 3;
      else if (what.role == Role::reward)
        pool = reward_with_critic ? 2 : 4;
      pools[pool].push_back(what);
    }
    std::erase_if(pools, [](const PoolStages& pool) { return pool.empty(); });
    return pools;
  }

  /// All sizes of all pools.
  void divide(const std::vector<PoolStages>& pools) {
    std::vector<int32_t> sizes(pools.size(), 0);
    choose(pools, sizes, 0, cluster_.devices());
  }

  void choose(const std::vector<PoolStages>& pools, std::vector<int32_t>& sizes, size_t index, int32_t left) {
    if (index == pools.size()) return price(pools, sizes);
    const auto later = static_cast<int32_t>(pools.size() - index - 1) * unit_;
    // The last pool takes what is left.
    const int32_t least = index + 1 == pools.size() ? left : unit_;
    for (int32_t size = least; size <= left - later; size += unit_) {
      sizes[index] = size;
      if (pool_plan(pools[index], size) != nullptr) choose(pools, sizes, index + 1, left - size);
    }
  }

  void price(const std::vector<PoolStages>& pools, const std::vector<int32_t>& sizes) {
    double generate = 0, infer = 0, train = 0;
    for (size_t i = 0; i < pools.size(); ++i) {
      const auto* pool = pool_plan(pools[i], sizes[i]);
      generate = std::max(generate, pool->generate);
      infer = std::max(infer, pool->infer);
      train = std::max(train, pool->train);
    }
    const double seconds = generate + infer + train;
    if (!best_.wants(seconds)) return;
    plan::Plan plan = joined(pools, sizes);
    if (plan::fits(cluster_, job_, plan)) best_.add(seconds, std::move(plan));
  }

  plan::Plan joined(const std::vector<PoolStages>& pools, const std::vector<int32_t>& sizes) {
    // Large pools first, so that machines are divided last.
    std::vector<size_t> order(pools.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
    plan::Plan plan;
    int32_t first = 0;
    for (const size_t i : order) {
      for (auto placement : pool_plan(pools[i], sizes[i])->placements) {
        for (int32_t& device : placement.devices) device += first;
        plan.placements.push_back(std::move(placement));
      }
      first += sizes[i];
    }
    const auto stages = plan::model_stages(job_);
    std::ranges::sort(plan.placements, {}, [&](const plan::Placement& placement) {
      return std::ranges::find(stages, placement.what) - stages.begin();
    });
    return plan;
  }

  const PoolPlan* pool_plan(const PoolStages& stages, int32_t size) {
    auto [entry, is_new] = known_.try_emplace({stages, size});
    if (is_new) entry->second = best_of(stages, size);
    return entry->second ? &*entry->second : nullptr;
  }

  std::optional<PoolPlan> best_of(const PoolStages& stages, int32_t size) const {
    std::optional<PoolPlan> best;
    const bool generates = stages.front().stage == Stage::generate;
    const int32_t machine = cluster_.machines.front().devices;
    for (const int32_t tp : {1, 2, 4, 8}) {
      if (tp > machine || tp > size || (tp > 1 && !generates)) continue;
      for (const int32_t zero : {1, 2, 3})
        for (const bool recompute : {false, true})
          for (const bool leaves : {false, true})
            for (const int32_t micro_batch : {1, 2, 4, 8, 16}) {
              if (generates && (zero > 1 || recompute || leaves || micro_batch > 1)) continue;
              consider(best, pool_of(stages, {size / tp, 1, tp}, zero, recompute, leaves, micro_batch));
            }
    }
    return best;
  }

  static PoolPlan pool_of(const PoolStages& stages, plan::Layout layout, int32_t zero, bool recompute,
                          bool leaves, int32_t micro_batch) {
    PoolPlan pool;
    for (const auto what : stages) {
      auto placement = placed(what, layout, 0);
      placement.micro_batch = what.stage == Stage::generate ? 1 : micro_batch;
      placement.leaves_when_idle = leaves;
      if (what.stage == Stage::train) {
        placement.zero = zero;
        placement.recompute = recompute;
      }
      pool.placements.push_back(std::move(placement));
    }
    return pool;
  }

  void consider(std::optional<PoolPlan>& best, PoolPlan pool) const {
    const plan::Plan alone{pool.placements};
    if (!plan::fits(cluster_, job_, alone)) return;
    for (const auto& time : plan::predict(cluster_, job_, alone, {}).stages) {
      auto& turn = time.what.stage == Stage::generate ? pool.generate
                   : time.what.stage == Stage::infer  ? pool.infer
                                                      : pool.train;
      turn += time.total();
    }
    if (!best || pool.total() < best->total()) best = std::move(pool);
  }

  const cluster::Cluster& cluster_;
  const plan::Job& job_;
  int32_t unit_;
  std::map<std::pair<PoolStages, int32_t>, std::optional<PoolPlan>> known_;
  Best best_;
};

/// What verl's users set.
struct SharedSettings {
  plan::Layout training;
  int32_t generate_tp = 1, zero = 1, micro_batch = 1;
  bool recompute = false;
  bool training_leaves = false, frozen_leaves = false;
};

plan::Plan shared_plan(const plan::Job& job, int32_t devices, const SharedSettings& settings) {
  plan::Plan plan;
  for (const auto what : plan::model_stages(job)) {
    const bool generates = what.stage == Stage::generate;
    const plan::Layout layout =
        generates ? plan::Layout{devices / settings.generate_tp, 1, settings.generate_tp} : settings.training;
    auto placement = placed(what, layout, 0);
    placement.micro_batch = generates ? 1 : settings.micro_batch;
    const bool frozen = what.role == Role::reference || what.role == Role::reward;
    placement.leaves_when_idle = frozen ? settings.frozen_leaves : settings.training_leaves;
    if (what.stage == Stage::train) {
      placement.zero = settings.zero;
      placement.recompute = settings.recompute;
    }
    plan.placements.push_back(std::move(placement));
  }
  return plan;
}

}  // namespace

Result<plan::Plan> separate_pools_plan(const cluster::Cluster& cluster, const plan::Job& job,
                                       const Judge& judge) {
  return SeparatePools(cluster, job).search().judged(judge, "separate pools");
}

Result<plan::Plan> shared_pool_plan(const cluster::Cluster& cluster, const plan::Job& job,
                                    const Judge& judge) {
  const int32_t devices = cluster.devices();
  Best best;
  const auto consider = [&](const SharedSettings& settings) {
    plan::Plan plan = shared_plan(job, devices, settings);
    if (!plan::fits(cluster, job, plan)) return;
    const double seconds = plan::predict(cluster, job, plan, {}).total;
    best.add(seconds, std::move(plan));
  };
  const int32_t machine = cluster.machines.empty() ? 1 : cluster.machines.front().devices;
  for (const int32_t tp : {1, 2, 4, 8})
    for (const int32_t pp : {1, 2, 4, 8}) {
      if (tp > machine || devices % (tp * pp) != 0) continue;
      for (const int32_t generate_tp : {1, 2, 4, 8}) {
        if (generate_tp > machine || devices % generate_tp != 0) continue;
        for (const int32_t zero : {1, 2, 3})
          for (const bool recompute : {false, true})
            for (const int32_t micro_batch : {1, 2, 4, 8, 16})
              for (const bool training : {false, true})
                for (const bool frozen : {false, true})
                  consider({{devices / (tp * pp), pp, tp},
                            generate_tp,
                            zero,
                            micro_batch,
                            recompute,
                            training,
                            frozen});
      }
    }
  return best.judged(judge, "one shared pool");
}

}  // namespace nereus::simulator
