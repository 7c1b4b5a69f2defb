#include "tests/elastic/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/elastic/world_pieces.h"

namespace nereus::elastic::test {
namespace {

using Key = World::Key;

}  // namespace

World::Store World::store_of(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan) {
  const Places places(cluster);
  Store store;
  for (const Unit& unit : value_or_throw(units_of(cluster, job, plan))) {
    for (const Piece& piece : unit.pieces) {
      const int32_t place =
          piece.residency == Residency::host ? places.host(places.machine(piece.device)) : piece.device;
      const Key key{place, unit.what.role, piece.kind, piece.tensor, piece.box};
      if (!store.contains(key)) store[key] = true_bytes(job, key);
    }
  }
  return store;
}

World::World(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& plan)
    : cluster_(cluster), job_(job), places_(cluster), store_(store_of(cluster, job, plan)) {}

void World::lose(const std::vector<int32_t>& devices) {
  std::erase_if(store_, [&](const auto& entry) {
    return std::find(devices.begin(), devices.end(), entry.first.place) != devices.end();
  });
}

std::string World::compare(const plan::Plan& plan) const {
  const Store expected = store_of(cluster_, job_, plan);
  for (const auto& [key, bytes] : expected) {
    const auto found = store_.find(key);
    if (found == store_.end()) return "missing: " + where(key);
    if (found->second != bytes) return "other bytes: " + where(key);
  }
  for (const auto& [key, bytes] : store_) {
    if (!expected.contains(key)) return "left over: " + where(key);
  }
  return "";
}

std::string World::use(const Transition& transition, int32_t place, int64_t bytes) {
  const auto i = static_cast<size_t>(place);
  memory_[i] += bytes;
  peak_[i] = std::max(peak_[i], memory_[i]);
  if (bytes > 0 && memory_[i] > transition.memory.capacity[i])
    return fmt::format("{} holds {} of {} bytes", places_.name(place), memory_[i],
                       transition.memory.capacity[i]);
  return "";
}

std::string World::run(const Transition& transition, Dice& dice) {
  target_ = store_of(cluster_, job_, transition.to);
  initial_.clear();
  fresh_.clear();
  host_copies_.clear();
  memory_.assign(static_cast<size_t>(places_.count()), 0);
  for (const auto& [key, bytes] : store_) {
    initial_.insert(key);
    memory_[static_cast<size_t>(key.place)] += static_cast<int64_t>(bytes.size());
  }
  if (memory_ != transition.memory.used) return "the transition starts from other sums of bytes";
  peak_ = memory_;
  // What is read from an older checkpoint whole is of no worth where it is.
  for (const plan::Role role : transition.stepped_back) {
    const auto invalid = [&](const Key& key) { return key.role == role && key.kind != Kind::gradient; };
    std::erase_if(store_, [&](const auto& entry) { return invalid(entry.first); });
    std::erase_if(initial_, invalid);
  }
  if (auto wrong = run_nodes(transition, dice); !wrong.empty()) return wrong;
  // What begins empty.
  std::erase_if(store_, [&](const auto& entry) { return entry.first.kind == Kind::gradient; });
  for (const auto& [key, bytes] : target_) {
    if (key.kind == Kind::gradient) store_[key] = bytes;
  }
  for (auto& [key, piece] : fresh_) store_[key] = std::move(piece.bytes);
  std::vector<int64_t> left(memory_.size(), 0);
  for (const auto& [key, bytes] : store_)
    left[static_cast<size_t>(key.place)] += static_cast<int64_t>(bytes.size());
  return left == memory_ ? "" : "the nodes' bytes do not add up to what is left";
}

std::string World::run_in_place(const Transition& sync, const plan::Plan& to, Dice& dice) {
  target_ = store_of(cluster_, job_, to);
  const bool adapter = job_.find(plan::Role::actor)->lora_rank > 0;
  std::erase_if(target_, [&](const auto& entry) {
    return entry.first.kind != (adapter ? Kind::adapter : Kind::weight);
  });
  initial_.clear();
  fresh_.clear();
  for (const auto& [key, bytes] : store_) initial_.insert(key);
  for (const auto& [key, bytes] : target_) {
    if (!initial_.contains(key))
      fresh_[key] = {Bytes(bytes.size()), std::vector<bool>(static_cast<size_t>(key.box.elements()))};
  }
  if (auto wrong = run_nodes(sync, dice); !wrong.empty()) return wrong;
  for (const auto& [key, piece] : fresh_) {
    if (piece.bytes != target_[key]) return "other bytes: " + where(key);
  }
  return "";
}

std::string World::run_nodes(const Transition& transition, Dice& dice) {
  const Graph& graph = transition.graph();
  std::vector<int32_t> open(graph.nodes.size());
  std::vector<std::vector<int32_t>> after(graph.nodes.size());
  std::vector<int32_t> ready;
  for (int32_t i = 0; i < graph.count(); ++i) {
    for (const int32_t before : graph.predecessors(i)) {
      ++open[static_cast<size_t>(i)];
      after[static_cast<size_t>(before)].push_back(i);
    }
    if (open[static_cast<size_t>(i)] == 0) ready.push_back(i);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    std::swap(ready[static_cast<size_t>(dice.below(static_cast<int32_t>(ready.size())))], ready.back());
    const int32_t i = ready.back();
    ready.pop_back();
    const Node& node = graph.nodes[static_cast<size_t>(i)];
    if (auto wrong = execute(transition, node); !wrong.empty())
      return fmt::format("node {} ({}, place {}, source {}, bundle {}): {}", i, name_of(node.action),
                         node.place, node.source, node.bundle, wrong);
    for (const int32_t next : after[static_cast<size_t>(i)]) {
      if (--open[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return done == graph.nodes.size() ? "" : "the graph has a cycle";
}

std::string World::execute(const Transition& transition, const Node& node) {
  Step step{node};
  if (node.bundle >= 0) {
    step.bundle = &transition.cut.bundles[static_cast<size_t>(node.bundle)];
    const ModelChange& change = transition.models[static_cast<size_t>(step.bundle->model)];
    step.role = change.tensors.role;
    step.kinds = change.after[step.bundle->lane].kinds;
    if (step.kinds.empty()) step.kinds = change.before[step.bundle->lane].kinds;
  }
  switch (node.action) {
    case Action::allocate: {
      auto wrong = allocate(step);
      return wrong.empty() ? use(transition, node.place, node.bytes) : wrong;
    }
    case Action::release: {
      auto wrong = step.bundle == nullptr ? "" : release(step);
      return wrong.empty() ? use(transition, node.place, -node.bytes) : wrong;
    }
    case Action::stage_out: {
      auto wrong = stage_out(step);
      return wrong.empty() ? use(transition, node.place, node.bytes) : wrong;
    }
    case Action::create:
      return use(transition, node.place, node.bytes);
    case Action::commit:
      return commit(transition);
    case Action::copy:
    case Action::transfer:
    case Action::recreate:
      return fill(transition, step);
  }
  return "";
}

std::string World::allocate(const Step& step) {
  int64_t sum = 0;
  for (const Kind kind : step.kinds) {
    auto [it, end] =
        range(target_, step.node.place, step.role, kind, step.bundle->first_tensor, step.bundle->last_tensor);
    for (; it != end; ++it) {
      if (initial_.contains(it->first)) continue;
      const auto elements = static_cast<size_t>(it->first.box.elements());
      const bool twice =
          !fresh_.emplace(it->first, Fresh{Bytes(it->second.size()), std::vector<bool>(elements)}).second;
      if (twice) return "allocated twice: " + where(it->first);
      sum += static_cast<int64_t>(it->second.size());
    }
  }
  return sum == step.node.bytes ? "" : fmt::format("{} bytes, but the pieces have {}", step.node.bytes, sum);
}

std::string World::release(const Step& step) {
  int64_t sum = 0;
  for (const Kind kind : step.kinds) {
    auto [it, end] =
        range(store_, step.node.place, step.role, kind, step.bundle->first_tensor, step.bundle->last_tensor);
    while (it != end) {
      if (target_.contains(it->first)) {
        ++it;
        continue;
      }
      sum += static_cast<int64_t>(it->second.size());
      it = store_.erase(it);
    }
  }
  return sum == step.node.bytes ? "" : fmt::format("{} bytes, but the pieces have {}", step.node.bytes, sum);
}

std::string World::stage_out(const Step& step) {
  Store& copy = host_copies_[{step.node.source, step.node.bundle}];
  if (!copy.empty()) return "staged twice";
  int64_t sum = 0;
  for (const Kind kind : step.kinds) {
    auto [it, end] =
        range(store_, step.node.source, step.role, kind, step.bundle->first_tensor, step.bundle->last_tensor);
    for (; it != end; ++it) {
      copy.insert(*it);
      sum += static_cast<int64_t>(it->second.size());
    }
  }
  return sum == step.node.bytes ? "" : fmt::format("{} bytes, but the pieces have {}", step.node.bytes, sum);
}

std::string World::fill(const Transition& transition, const Step& step) {
  const Node& node = step.node;
  if (node.action == Action::transfer) {
    int64_t sum = 0;
    for (const Cell& cell : cells_of(transition, node)) {
      for (const Kind kind : step.kinds) sum += cell.box.elements() * element_bytes(job_, kind);
      if (auto wrong = write(transition, step, cell); !wrong.empty()) return wrong;
    }
    return sum == node.bytes ? "" : fmt::format("{} bytes, but the cells have {}", node.bytes, sum);
  }
  for (int32_t i = step.bundle->first_stream; i < step.bundle->last_stream; ++i) {
    const Stream& stream = transition.cut.streams[static_cast<size_t>(i)];
    const int32_t set = node.action == Action::copy ? stream.local : stream.recreate;
    if (!transition.sets.contains(set, node.place)) continue;
    for (int32_t c = stream.first_cell; c < stream.last_cell; ++c) {
      const auto wrong = write(transition, step, transition.cut.cells[static_cast<size_t>(c)]);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

/// Writes one cell into every new piece of the node's place that has it.
std::string World::write(const Transition& transition, const Step& step, const Cell& cell) {
  for (const Kind kind : step.kinds) {
    const int64_t size = element_bytes(job_, kind);
    const Key wanted{step.node.place, step.role, kind, cell.tensor, cell.box};
    Bytes bytes;
    bool any = false;
    auto [it, end] = range(fresh_, wanted.place, step.role, kind, cell.tensor, cell.tensor + 1);
    for (; it != end; ++it) {
      const Rect& box = it->first.box;
      if (!box.contains(cell.box)) continue;
      if (!any) {
        if (auto wrong = read(transition, step, wanted, bytes); !wrong.empty()) return wrong;
      }
      any = true;
      std::string wrong;
      for_each(cell.box, box, cell.box, [&](int64_t to, int64_t from) {
        if (it->second.written[static_cast<size_t>(to)]) wrong = "written twice: " + where(it->first);
        it->second.written[static_cast<size_t>(to)] = true;
        put(bytes, from, it->second.bytes, to, size);
      });
      if (!wrong.empty()) return wrong;
    }
    if (!any && step.node.action == Action::transfer) return "goes to no piece: " + where(wanted);
  }
  return "";
}

/// The bytes of a cell, from where the node says they are.
std::string World::read(const Transition& transition, const Step& step, const Key& wanted,
                        Bytes& bytes) const {
  const Node& node = step.node;
  const int64_t size = element_bytes(job_, wanted.kind);
  bytes.assign(static_cast<size_t>(wanted.box.elements() * size), 0);
  if (node.source == transition.places.checkpoint()) {
    bytes = true_bytes(job_, wanted);
    return "";
  }
  Key key = wanted;
  const Bytes* found = nullptr;
  Rect box;
  int64_t stride = size;
  if (node.action == Action::recreate || (node.action == Action::transfer && node.depth > 0)) {
    key.place = node.source;
    if (node.action == Action::recreate) key.kind = Kind::master, stride = element_bytes(job_, Kind::master);
    if (const auto it = containing(fresh_, key); it != fresh_.end()) {
      bool all = true;
      for_each(wanted.box, it->first.box, wanted.box,
               [&](int64_t from, int64_t) { all = all && it->second.written[static_cast<size_t>(from)]; });
      if (!all) return "passed on before it came: " + where(key);
      found = &it->second.bytes, box = it->first.box;
    } else if (const auto kept = containing(store_, key);
               kept != store_.end() && target_.contains(kept->first)) {
      found = &kept->second, box = kept->first.box;
    }
  } else if (node.source == node.origin) {
    key.place = node.origin;
    if (const auto it = containing(store_, key); it != store_.end()) found = &it->second, box = it->first.box;
  } else {
    key.place = node.origin;
    const auto copy = host_copies_.find({node.origin, node.bundle});
    if (copy == host_copies_.end()) return "read before it was staged: " + where(key);
    if (const auto it = containing(copy->second, key); it != copy->second.end())
      found = &it->second, box = it->first.box;
  }
  if (found == nullptr) return "nothing there to read: " + where(key);
  for_each(wanted.box, box, wanted.box, [&](int64_t from, int64_t to) {
    std::copy_n(found->begin() + from * stride, size, bytes.begin() + to * size);
  });
  return "";
}

bool World::recoverable(const Transition& transition, const Key& key) const {
  if (store_.contains(key)) return true;
  for (size_t i = 0; i < transition.cut.bundles.size(); ++i) {
    const auto copy = host_copies_.find({key.place, static_cast<int32_t>(i)});
    if (copy != host_copies_.end() && copy->second.contains(key)) return true;
  }
  return false;
}

std::string World::commit(const Transition& transition) const {
  for (const auto& [key, piece] : fresh_) {
    if (std::find(piece.written.begin(), piece.written.end(), false) != piece.written.end())
      return "not filled: " + where(key);
  }
  if (!transition.schedule.revocable) return "";
  for (const Key& key : initial_) {
    if (key.kind != Kind::gradient && !recoverable(transition, key)) return "cannot come back: " + where(key);
  }
  return "";
}

}  // namespace nereus::elastic::test
