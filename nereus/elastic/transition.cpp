#include "nereus/elastic/transition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "nereus/elastic/assignment.h"
#include "nereus/elastic/transition_memory.h"

namespace nereus::elastic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kMoved = {LaneKind::weights, LaneKind::adapters, LaneKind::optimizer};

}  // namespace

/// Builds transitions, a part after the other.
class TransitionMaker::Maker {
 public:
  Maker(const cluster::Cluster& cluster, const plan::Job& job, const TransitionOptions& options)
      : cluster_(cluster), job_(job), options_(options) {
    result_.places = Places(cluster);
  }

  /// The state of one plan, which all transitions from it begin with.
  Status begin(const plan::Plan& from) {
    result_.from = from;
    if (auto status = check(); !status) return status;
    find_lost();
    add_before();
    start_ = result_.sets;
    return {};
  }

  /// A transition from there. Once `limit` seconds are known to pass, only the cost is worked out, and that
  /// no further.
  Status change(const plan::Plan& to, double limit) {
    restart();
    result_.to = to;
    if (auto status = check_target(); !status) return status;
    if (options_.assign) assign();
    add_after();
    if (auto status = check_kept(); !status) return status;
    if (auto status = cut_state(); !status) return status;
    result_.memory = memory_of(cluster_, options_, result_, lost_);
    if (auto status = check_memory(cluster_, options_, result_); !status) return status;
    bundle_bytes_ = finer_bundles(options_, result_);
    if (bundle_bytes_ > 0) {
      if (auto status = cut_state(); !status) return status;
    }
    return finish({.keep_old = options_.keep_old}, limit);
  }

  Status sync(const plan::Plan& plan) {
    result_.from = result_.to = plan;
    if (auto status = check(); !status) return status;
    if (auto status = check_target(); !status) return status;
    const plan::Placement* train = plan.find({plan::Role::actor, plan::Stage::train});
    const plan::Placement* generate = plan.find({plan::Role::actor, plan::Stage::generate});
    if (train == nullptr || generate == nullptr)
      return fail("a weight sync needs placements of actor train and actor generate, the plan lacks one");
    const plan::Model& model = *job_.find(plan::Role::actor);
    result_.models.push_back({.tensors = model_tensors(model)});
    ModelChange& change = result_.models.back();
    const LaneKind lane = model.lora_rank > 0 ? LaneKind::adapters : LaneKind::weights;
    change.valid[lane] = running(*train, change.tensors)[lane];
    change.after[lane] = running(*generate, change.tensors)[lane];
    change.before = change.valid;
    if (auto status = cut_state(); !status) return pass(status);
    const auto places = static_cast<size_t>(result_.places.count());
    result_.memory = {std::vector<int64_t>(places, 0), std::vector<int64_t>(places, 0)};
    result_.cut.release.clear();
    for (Bundle& bundle : result_.cut.bundles) bundle.first_release = bundle.last_release = 0;
    return finish({.keep_old = false, .in_place = true}, kInfinity);
  }

  Transition take() { return std::move(result_); }
  double seconds() const { return result_.cost.total; }

 private:
  Status check() const {
    if (auto status = check_placements(cluster_, job_, result_.from); !status) return status;
    for (const auto* list : {&options_.reserved, &options_.kv_before, &options_.kv_after}) {
      if (list->size() > static_cast<size_t>(cluster_.devices()))
        return fail("bytes of {} devices are given, the cluster has {}", list->size(), cluster_.devices());
    }
    return {};
  }

  Status check_target() const {
    if (auto status = check_placements(cluster_, job_, result_.to); !status) return status;
    const std::set<int32_t> lost(options_.lost.begin(), options_.lost.end());
    for (const plan::Placement& placement : result_.to.placements) {
      for (const int32_t device : placement.devices) {
        if (lost.contains(device))
          return fail("{}: {} is lost", plan::to_string(placement), result_.places.name(device));
      }
    }
    return {};
  }

  /// As it was before any transition.
  void restart() {
    result_.sets = start_;
    for (ModelChange& change : result_.models) {
      if (!result_.stepped_back.empty()) change.valid = change.before;
    }
    result_.stepped_back.clear();
    bundle_bytes_ = 0;
  }

  /// Lost devices, and hosts that lost all of theirs.
  void find_lost() {
    std::vector<int32_t> lost = options_.lost;
    std::vector<int32_t> left(static_cast<size_t>(result_.places.machines()), 0);
    for (int32_t device = 0; device < result_.places.devices(); ++device) {
      if (std::find(lost.begin(), lost.end(), device) == lost.end())
        ++left[static_cast<size_t>(result_.places.machine(device))];
    }
    for (int32_t machine = 0; machine < result_.places.machines(); ++machine) {
      if (left[static_cast<size_t>(machine)] == 0) lost.push_back(result_.places.host(machine));
    }
    lost_ = result_.sets.add(std::move(lost));
  }

  void add_before() {
    for (const plan::Model& model : job_.models) {
      result_.models.push_back({.tensors = model_tensors(model)});
      ModelChange& change = result_.models.back();
      change.before =
          without(state_of(result_.places, job_, change.tensors, result_.from.placements, result_.sets),
                  lost_, result_.sets);
      change.valid = change.before;
    }
  }

  /// Gives devices to the ranks of every placement that is new. Stages of one model with equal layout and
  /// devices stay together, so that they can share their weights.
  void assign() {
    std::vector<std::tuple<plan::Role, plan::Layout, std::vector<int32_t>, std::vector<int32_t>>> known;
    std::vector<plan::Placement*> placements;
    for (plan::Placement& placement : result_.to.placements) placements.push_back(&placement);
    std::stable_sort(placements.begin(), placements.end(),
                     [](const plan::Placement* a, const plan::Placement* b) {
                       return a->what.stage > b->what.stage;  // training first: it holds the most
                     });
    for (plan::Placement* placement : placements) {
      const auto given = std::tuple(placement->what.role, placement->layout, placement->devices);
      const auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) {
        return std::tuple(std::get<0>(k), std::get<1>(k), std::get<2>(k)) == given;
      });
      if (found != known.end()) {
        placement->devices = std::get<3>(*found);
        continue;
      }
      const plan::Placement* old = result_.from.find(placement->what);
      if (old == nullptr || *old != *placement) placement->devices = assigned(*placement);
      known.emplace_back(std::get<0>(given), std::get<1>(given), std::get<2>(given), placement->devices);
    }
  }

  std::vector<int32_t> assigned(const plan::Placement& placement) {
    for (const ModelChange& change : result_.models) {
      if (change.tensors.role == placement.what.role)
        return assign_devices(cluster_, overlap(change, placement), placement.devices);
    }
    return placement.devices;
  }

  /// Worked out once for all plans that have the layout.
  const Overlap& overlap(const ModelChange& change, const plan::Placement& placement) {
    const auto key = overlap_key(placement);
    auto found = overlaps_.find(key);
    if (found == overlaps_.end())
      found =
          overlaps_
              .emplace(key, overlap_of(result_.places, job_, change.tensors, change.valid, placement, start_))
              .first;
    result_.sets.add_all(found->second.sets, start_.count());
    return found->second;
  }

  void add_after() {
    for (ModelChange& change : result_.models)
      change.after = state_of(result_.places, job_, change.tensors, result_.to.placements, result_.sets);
  }

  /// The set of state is compared: whatever was held has to be held again.
  Status check_kept() const {
    for (const ModelChange& change : result_.models) {
      for (const LaneKind lane : kMoved) {
        int64_t dropped = 0;
        int32_t first = -1;
        for (int32_t tensor = 0; tensor < change.tensors.count(); ++tensor) {
          if (change.before[lane].of(tensor).empty() || !change.after[lane].of(tensor).empty()) continue;
          if (dropped++ == 0) first = tensor;
        }
        if (dropped == 0) continue;
        return fail("the new plan would drop the {} of the {}: {} tensors from {} on", name_of(lane),
                    name_of(change.tensors.role), dropped,
                    change.tensors.tensors[static_cast<size_t>(first)].spec.name);
      }
    }
    return {};
  }

  CutOptions cut_options() const {
    return {.bundle_bytes = std::max<int64_t>(1, bundle_bytes_ > 0 ? bundle_bytes_ : options_.bundle_bytes),
            .max_hops = options_.max_hops,
            .recreate_weights = options_.recreate_weights,
            .recovery = options_.recovery};
  }

  Status cut_state() {
    auto done = cut(result_.places, result_.models, result_.sets, cut_options());
    if (!done) return pass(done);
    if (options_.recovery == Recovery::older && step_back(done->missing)) {
      done = cut(result_.places, result_.models, result_.sets, cut_options());
      if (!done) return pass(done);
    }
    result_.cut = std::move(*done);
    result_.recovered = result_.cut.missing;
    return {};
  }

  /// A trained model of which something comes from an older checkpoint comes from there whole.
  bool step_back(const std::vector<Missing>& missing) {
    bool any = false;
    for (ModelChange& change : result_.models) {
      const bool held = !change.valid[LaneKind::optimizer].holdings.empty();
      const bool lost = std::any_of(missing.begin(), missing.end(),
                                    [&](const Missing& m) { return m.role == change.tensors.role; });
      if (!held || !lost) continue;
      change.valid = {};
      result_.stepped_back.push_back(change.tensors.role);
      any = true;
    }
    return any;
  }

  void add_pools() {
    std::vector<PlaceBytes> drop;
    for (size_t i = 0; i < options_.kv_before.size(); ++i) {
      const auto device = static_cast<int32_t>(i);
      if (options_.kv_before[i] > 0 && !result_.sets.contains(lost_, device))
        drop.push_back({device, options_.kv_before[i]});
    }
    result_.cut.drop.insert(result_.cut.drop.begin(), drop.begin(), drop.end());
    for (size_t i = 0; i < options_.kv_after.size(); ++i) {
      if (options_.kv_after[i] > 0)
        result_.cut.create.push_back({static_cast<int32_t>(i), options_.kv_after[i]});
    }
  }

  Status finish(const OrderOptions& options, double limit) {
    if (!options.in_place) add_pools();
    Router router(cluster_, result_.places, result_.sets, options_.checkpoint_bandwidth,
                  options_.message_bytes, options_.messages_in_flight);
    const Routes routes = route(router);
    const auto changed = changed_placements();
    if (limit < kInfinity && room_for_all(result_)) {
      result_.cost.total = least_seconds(cluster_, result_.places, router.loads(), received(routes),
                                         !changed.empty(), options_.cost);
      if (result_.cost.total >= limit) return {};
    }
    auto schedule =
        order(result_.places, result_.sets, result_.models, result_.cut, routes, result_.memory, options);
    if (!schedule) return pass(schedule);
    result_.schedule = std::move(*schedule);
    result_.cost = cost_of(
        cluster_, result_.places, result_.cut, result_.schedule, changed,
        {options_.message_bytes, options_.messages_in_flight, options_.checkpoint_bandwidth}, options_.cost);
    return {};
  }

  /// Those whose groups have to be set up.
  std::vector<plan::Placement> changed_placements() const {
    std::vector<plan::Placement> changed;
    for (const plan::Placement& placement : result_.to.placements) {
      const plan::Placement* old = result_.from.find(placement.what);
      if (old == nullptr || old->devices != placement.devices || old->layout != placement.layout)
        changed.push_back(placement);
    }
    return changed;
  }

  std::vector<int64_t> received(const Routes& routes) const {
    std::vector<int64_t> bytes(static_cast<size_t>(result_.places.count()), 0);
    for (const Hop& hop : routes.hops)
      bytes[static_cast<size_t>(hop.target)] += result_.cut.streams[static_cast<size_t>(hop.stream)].bytes;
    return bytes;
  }

  Routes route(Router& router) const {
    Routes routes;
    std::vector<Hop> hops;
    for (const Bundle& bundle : result_.cut.bundles) {
      hops.clear();
      for (int32_t i = bundle.first_stream; i < bundle.last_stream; ++i)
        router.route(result_.cut.streams[static_cast<size_t>(i)], i, hops);
      routes.hops.insert(routes.hops.end(), hops.begin(), hops.end());
      routes.begin.push_back(static_cast<int64_t>(routes.hops.size()));
    }
    return routes;
  }

  /// The state of a placement whose stage runs: on its devices, wherever it waits when idle.
  ModelState running(plan::Placement placement, const ModelTensors& tensors) {
    placement.leaves_when_idle = false;
    return state_of(result_.places, job_, tensors, {placement}, result_.sets);
  }

  const cluster::Cluster& cluster_;
  const plan::Job& job_;
  const TransitionOptions& options_;
  Transition result_;
  PlaceSets start_;                         // those of the old state
  std::map<OverlapKey, Overlap> overlaps_;  // of the old state and new placements
  int32_t lost_ = 0;                        // set of places
  int64_t bundle_bytes_ = 0;                // 0: those of the options
};

TransitionMaker::TransitionMaker(cluster::Cluster cluster, plan::Job job, plan::Plan from,
                                 TransitionOptions options)
    : cluster_(std::move(cluster)), job_(std::move(job)), options_(std::move(options)) {
  maker_ = std::make_unique<Maker>(cluster_, job_, options_);
  begun_ = maker_->begin(from);
}
TransitionMaker::~TransitionMaker() = default;

Result<double> TransitionMaker::seconds(const plan::Plan& to, double limit) {
  if (!begun_) return pass(begun_);
  if (auto status = maker_->change(to, limit); !status) return pass(status);
  return maker_->seconds();
}

Result<Transition> make_transition(const cluster::Cluster& cluster, const plan::Job& job,
                                   const plan::Plan& from, const plan::Plan& to,
                                   const TransitionOptions& options) {
  TransitionMaker::Maker maker(cluster, job, options);
  if (auto status = maker.begin(from); !status) return pass(status);
  if (auto status = maker.change(to, kInfinity); !status) return pass(status);
  return maker.take();
}

Result<Transition> make_weight_sync(const cluster::Cluster& cluster, const plan::Job& job,
                                    const plan::Plan& plan, const TransitionOptions& options) {
  TransitionMaker::Maker maker(cluster, job, options);
  if (auto status = maker.sync(plan); !status) return pass(status);
  return maker.take();
}

}  // namespace nereus::elastic
