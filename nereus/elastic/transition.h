#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/elastic/cost.h"
#include "nereus/elastic/cut.h"
#include "nereus/elastic/graph.h"
#include "nereus/elastic/order.h"
#include "nereus/elastic/route.h"

namespace nereus::elastic {

struct TransitionOptions {
  bool assign = true;             ///< ranks of the new plan may change devices among its placement's own
  bool recreate_weights = false;  ///< move masters and moments; make low-precision weights from masters
  bool keep_old = true;           ///< the old plan stays readable until the commit, on hosts if need be
  int64_t bundle_bytes = int64_t{256}
                         << 20;  ///< moved and let go together, at most; less where memory is tight
  int64_t message_bytes = int64_t{16} << 20;  ///< of one message: what is passed on before the next arrives
  int32_t messages_in_flight = 4;             ///< buffers of a device
  int64_t max_hops = 300'000;                 ///< bundles grow where there would be more
  double memory_share = 1;    ///< of a device's memory, its context included, that may be used
  std::vector<int32_t> lost;  ///< devices of the cluster that are gone
  Recovery recovery = Recovery::none;
  double checkpoint_bandwidth = 2e9;         ///< bytes per second that one machine reads of the checkpoint
  std::vector<int64_t> reserved;             ///< bytes by device that something else holds; empty: none
  std::vector<int64_t> kv_before, kv_after;  ///< bytes of the KV pools by device; dropped first, created last
  CostOptions cost;
};

/// How the units of one plan become those of another: a plain value. Which bytes go where, in which order,
/// and what it costs; no byte is moved here.
struct Transition {
  plan::Plan from, to;  ///< `to` with the devices that its ranks were given
  Places places;
  PlaceSets sets;
  std::vector<ModelChange> models;
  Cut cut;
  Schedule schedule;
  Memory memory;
  Cost cost;
  std::vector<Missing> recovered;        ///< read from the checkpoint
  std::vector<plan::Role> stepped_back;  ///< models that go back to an older checkpoint whole

  const Graph& graph() const { return schedule.graph; }
  bool empty() const { return cut.bundles.empty() && cut.drop.empty() && cut.create.empty(); }
};

/// `cluster` has all devices, old and new and lost. Both plans are of `job`. A step boundary is assumed: no
/// activations, gradients of no worth. Pure; thread-safe; deterministic. Errors, before anything would move:
/// a placement that does not fit job or cluster, a device that is lost and used, state that the new plan
/// would drop or that nobody holds (by name), a device or host that cannot hold what it must (by name, with
/// the bytes that are short).
Result<Transition> make_transition(const cluster::Cluster& cluster, const plan::Job& job,
                                   const plan::Plan& from, const plan::Plan& to,
                                   const TransitionOptions& options = {});

/// Prices transitions from one plan to many: what they have in common is worked out once. Not thread-safe.
class TransitionMaker {
 public:
  TransitionMaker(cluster::Cluster cluster, plan::Job job, plan::Plan from, TransitionOptions options);
  ~TransitionMaker();

  /// make_transition(...).cost.total. Where it is at least `limit`, something from there up to it.
  Result<double> seconds(const plan::Plan& to, double limit = std::numeric_limits<double>::infinity());

  class Maker;

 private:
  cluster::Cluster cluster_;
  plan::Job job_;
  TransitionOptions options_;
  std::unique_ptr<Maker> maker_;
  Status begun_;
};

/// What every step sends: the trained weights, or the adapter alone where only that is trained, from the
/// actor's train placement to its generate placement, into memory that is there already.
Result<Transition> make_weight_sync(const cluster::Cluster& cluster, const plan::Job& job,
                                    const plan::Plan& plan, const TransitionOptions& options = {});

/// The boxes that a transfer carries: tensor, box, and by the bundle's lane the kinds.
std::vector<Cell> cells_of(const Transition& transition, const Node& node);

/// A few lines: what moves, over what, how long, what memory is the tightest.
std::string to_string(const Transition& transition);

}  // namespace nereus::elastic
