#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "nereus/elastic/transition.h"
#include "tests/elastic/cases.h"

namespace nereus::elastic::test {

/// Real bytes of every piece of a plan, and an interpreter that runs transitions on them in any order that
/// their graphs allow. It knows pieces from units_of alone. Every element has a value of its own, and a
/// low-precision weight is the first bytes of its master.
class World {
 public:
  World(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan);

  /// Devices that are gone, with what they hold.
  void lose(const std::vector<int32_t>& devices);
  /// Runs the transition in a random topological order. Returned: what was wrong first, or "".
  std::string run(const Transition& transition, Dice& dice);
  /// The same of a weight sync: into pieces of `to` that are there already.
  std::string run_in_place(const Transition& sync, const plan::Plan& to, Dice& dice);
  /// Whether exactly the pieces of the plan are there, bit for bit.
  std::string compare(const plan::Plan& plan) const;

  /// By place: the largest sum of bytes in the last run.
  const std::vector<int64_t>& peak() const { return peak_; }

  struct Key {
    int32_t place = 0;
    plan::Role role = plan::Role::actor;
    Kind kind = Kind::weight;
    int32_t tensor = 0;
    Rect box;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Bytes = std::vector<uint8_t>;
  using Store = std::map<Key, Bytes>;

  /// The pieces of a plan with their true values.
  static Store store_of(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan);
  const Store& store() const { return store_; }

 private:
  struct Fresh {
    Bytes bytes;
    std::vector<bool> written;  // by element
  };
  struct Step {
    const Node& node;
    const Bundle* bundle = nullptr;
    plan::Role role = plan::Role::actor;
    std::vector<Kind> kinds = {};
  };

  std::string run_nodes(const Transition& transition, Dice& dice);
  std::string execute(const Transition& transition, const Node& node);
  std::string allocate(const Step& step);
  std::string release(const Step& step);
  std::string stage_out(const Step& step);
  std::string fill(const Transition& transition, const Step& step);
  std::string write(const Transition& transition, const Step& step, const Cell& cell);
  std::string read(const Transition& transition, const Step& step, const Key& wanted, Bytes& bytes) const;
  std::string commit(const Transition& transition) const;
  std::string use(const Transition& transition, int32_t place, int64_t bytes);
  bool recoverable(const Transition& transition, const Key& key) const;

  cluster::Cluster cluster_;
  plan::Job job_;
  Places places_;
  Store store_;
  // Of the run at hand:
  Store target_;                                              // keys of the new plan
  std::set<Key> initial_;                                     // keys of the old one
  std::map<Key, Fresh> fresh_;                                // new pieces
  std::map<std::pair<int32_t, int32_t>, Store> host_copies_;  // by place and bundle
  std::vector<int64_t> memory_, peak_;
};

}  // namespace nereus::elastic::test
