#include "nereus/elastic/room.h"

#include <algorithm>
#include <array>

namespace nereus::elastic {
namespace {

uint64_t key_of(int32_t place, int32_t bundle) {
  return static_cast<uint64_t>(place) << 32U | static_cast<uint32_t>(bundle);
}

}  // namespace

Room::Room(const Places& places, const PlaceSets& sets, const std::vector<ModelChange>& changes,
           const Cut& cut, const Memory& memory, bool keep_old, Schedule& schedule)
    : places_(places),
      sets_(sets),
      changes_(changes),
      cut_(cut),
      keep_old_(keep_old),
      schedule_(schedule),
      places_of_(static_cast<size_t>(places.count())),
      nodes_(cut.bundles.size(), {0, 0}),
      processed_(cut.bundles.size(), false) {
  schedule_.peak = memory.used;
  for (size_t place = 0; place < places_of_.size(); ++place) {
    places_of_[place].used = memory.used[place];
    places_of_[place].capacity = memory.capacity[place];
  }
  for (const PlaceBytes& drop : cut.drop) {
    at(drop.place).pending.push_back({-1, drop.bytes});
    at(drop.place).due += drop.bytes;
  }
  for (size_t bundle = 0; bundle < cut.bundles.size(); ++bundle) {
    for (int32_t i = cut.bundles[bundle].first_release; i < cut.bundles[bundle].last_release; ++i)
      at(cut.release[static_cast<size_t>(i)].place).old.push_back(i);
  }
  std::vector<int64_t> all = memory.used;
  for (const PlaceBytes& fill : cut.fill) all[static_cast<size_t>(fill.place)] += fill.bytes;
  for (size_t place = 0; place < all.size(); ++place)
    enough_ = enough_ && all[place] <= memory.capacity[place];
}

void Room::use(int32_t place, int64_t bytes) {
  OfPlace& here = at(place);
  here.used += bytes;
  int64_t& peak = schedule_.peak[static_cast<size_t>(place)];
  peak = std::max(peak, here.used);
}

bool Room::fits(int32_t bundle) const {
  const Bundle& b = cut_.bundles[static_cast<size_t>(bundle)];
  for (int32_t i = b.first_fill; i < b.last_fill; ++i) {
    const PlaceBytes& fill = cut_.fill[static_cast<size_t>(i)];
    const OfPlace& here = at(fill.place);
    if (here.used - here.due + fill.bytes > here.capacity) return false;
  }
  return true;
}

Result<int32_t> Room::allocate(const Node& node) {
  std::vector<int32_t> before;
  const auto need = [&] { return at(node.place).used + node.bytes - at(node.place).capacity; };
  while (need() > 0) {
    if (at(node.place).gone < at(node.place).pending.size()) {
      before.push_back(release_oldest(node.place));
      continue;
    }
    const auto release = stage(node.place, need());
    if (!release) return pass(release);
    before.push_back(*release);
  }
  const bool waits = !before.empty();
  if (at(node.place).fence >= 0) before.push_back(at(node.place).fence);
  const int32_t number = schedule_.graph.add(node, before);
  if (waits) at(node.place).fence = number;
  use(node.place, node.bytes);
  return number;
}

int32_t Room::release_oldest(int32_t place) {
  OfPlace& here = at(place);
  const Pending pending = here.pending[here.gone++];
  here.due -= pending.bytes;
  std::vector<int32_t> before;
  if (pending.bundle >= 0) {
    add_readers(pending.bundle, place, before);
    const int32_t copy = keep_old_ ? stage_out(place, pending.bundle, {}) : -1;
    if (copy >= 0) before.push_back(copy);
    if (copy < 0) schedule_.revocable = false;
  }
  use(place, -pending.bytes);
  return schedule_.graph.add(
      {.action = Action::release, .place = place, .bundle = pending.bundle, .bytes = pending.bytes}, before);
}

int64_t Room::held(int32_t place, int32_t bundle) const {
  const Bundle& b = cut_.bundles[static_cast<size_t>(bundle)];
  const Lane& lane = changes_[static_cast<size_t>(b.model)].valid[b.lane];
  int64_t elements = 0;
  for (int32_t tensor = b.first_tensor; tensor < b.last_tensor; ++tensor) {
    for (const Holding& holding : lane.of(tensor)) {
      if (sets_.contains(holding.places, place)) elements += holding.box.elements();
    }
  }
  return elements * lane.element_bytes;
}

/// The node, or -1 where the host has no room or the pieces lie there already.
int32_t Room::stage_out(int32_t place, int32_t bundle, std::span<const int32_t> before) {
  if (places_.is_host(place)) return -1;
  const int32_t host = places_.host(places_.machine(place));
  const int64_t bytes = held(place, bundle);
  if (at(host).used + bytes > at(host).capacity) return -1;
  std::vector<int32_t> after(before.begin(), before.end());
  if (at(host).fence >= 0) after.push_back(at(host).fence);
  Node node{.action = Action::stage_out, .place = host, .source = place, .bundle = bundle};
  node.bytes = bytes;
  node.origin = place;
  use(host, bytes);
  at(host).copies += bytes;
  schedule_.staged_bytes += bytes;
  return schedule_.graph.add(node, after);
}

int32_t Room::smallest_that_frees(int32_t place, int64_t need) const {
  int32_t best = -1;
  int64_t best_bytes = 0;
  for (const int32_t entry : at(place).old) {
    const int64_t bytes = cut_.release[static_cast<size_t>(entry)].bytes;
    const auto after =
        std::upper_bound(cut_.bundles.begin(), cut_.bundles.end(), entry,
                         [](int32_t value, const Bundle& bundle) { return value < bundle.last_release; });
    const auto bundle = static_cast<int32_t>(after - cut_.bundles.begin());
    if (processed_[static_cast<size_t>(bundle)] || staged(place, bundle) >= 0) continue;
    const bool better = best_bytes < need ? bytes > best_bytes : bytes >= need && bytes < best_bytes;
    if (best < 0 || better) best = bundle, best_bytes = bytes;
  }
  return best;
}

Result<int32_t> Room::stage(int32_t place, int64_t need) {
  const int32_t bundle = smallest_that_frees(place, need);
  if (bundle < 0 || places_.is_host(place))
    return fail(
        "{}: {} bytes short in the middle of the transition, and nothing there can be staged elsewhere",
        places_.name(place), need);
  const int32_t node = stage_out(place, bundle, {});
  const int32_t host = places_.host(places_.machine(place));
  if (node < 0)
    return fail("{}: {} of {} bytes are free, too few for {} bytes that {} has to stage there",
                places_.name(host), at(host).capacity - at(host).used, at(host).capacity, held(place, bundle),
                places_.name(place));
  staged_[key_of(place, bundle)] = node;
  ++schedule_.staged_bundles;
  const Bundle& b = cut_.bundles[static_cast<size_t>(bundle)];
  int64_t bytes = 0;
  for (int32_t i = b.first_release; i < b.last_release; ++i) {
    const PlaceBytes& release = cut_.release[static_cast<size_t>(i)];
    if (release.place == place) bytes = release.bytes;
  }
  use(place, -bytes);
  return schedule_.graph.add({.action = Action::release, .place = place, .bundle = bundle, .bytes = bytes},
                             std::array{node});
}

int32_t Room::staged(int32_t place, int32_t bundle) const {
  if (staged_.empty()) return -1;
  const auto found = staged_.find(key_of(place, bundle));
  return found == staged_.end() ? -1 : found->second;
}

void Room::set_nodes(int32_t bundle, int32_t first, int32_t last) {
  nodes_[static_cast<size_t>(bundle)] = {first, last};
  processed_[static_cast<size_t>(bundle)] = true;
}

void Room::pend(int32_t bundle) {
  const Bundle& b = cut_.bundles[static_cast<size_t>(bundle)];
  for (int32_t i = b.first_release; i < b.last_release; ++i) {
    const PlaceBytes& release = cut_.release[static_cast<size_t>(i)];
    if (staged(release.place, bundle) >= 0) continue;
    at(release.place).pending.push_back({bundle, release.bytes});
    at(release.place).due += release.bytes;
  }
}

const Room::Ends& Room::ends(int32_t bundle) const {
  const auto [found, fresh] = ends_.try_emplace(bundle);
  Ends& ends = found->second;
  if (!fresh) return ends;
  const auto [first, last] = nodes_[static_cast<size_t>(bundle)];
  for (int32_t i = first; i < last; ++i) {
    const Node& node = schedule_.graph.nodes[static_cast<size_t>(i)];
    ends.writers.emplace_back(node.place, i);
    if (node.origin >= 0 && node.origin == node.source) ends.readers.emplace_back(node.source, i);
  }
  std::sort(ends.writers.begin(), ends.writers.end());
  std::sort(ends.readers.begin(), ends.readers.end());
  return ends;
}

void Room::add_readers(int32_t bundle, int32_t place, std::vector<int32_t>& nodes) const {
  const auto& readers = ends(bundle).readers;
  for (auto it = std::lower_bound(readers.begin(), readers.end(), std::pair(place, int32_t{0}));
       it != readers.end() && it->first == place; ++it)
    nodes.push_back(it->second);
}

void Room::add_writers(int32_t bundle, int32_t place, std::vector<int32_t>& nodes) const {
  const auto& writers = ends(bundle).writers;
  for (auto it = std::lower_bound(writers.begin(), writers.end(), std::pair(place, int32_t{0}));
       it != writers.end() && it->first == place; ++it)
    nodes.push_back(it->second);
}

void Room::release_rest(int32_t commit) {
  std::vector<std::vector<int32_t>> released(places_of_.size());
  for (int32_t place = 0; place < places_.count(); ++place) {
    OfPlace& here = at(place);
    for (; here.gone < here.pending.size(); ++here.gone) {
      const Pending& pending = here.pending[here.gone];
      released[static_cast<size_t>(place)].push_back(schedule_.graph.add(
          {.action = Action::release, .place = place, .bundle = pending.bundle, .bytes = pending.bytes},
          std::array{commit}));
      use(place, -pending.bytes);
    }
    if (here.copies == 0) continue;
    released[static_cast<size_t>(place)].push_back(schedule_.graph.add(
        {.action = Action::release, .place = place, .bytes = here.copies}, std::array{commit}));
    use(place, -here.copies);
  }
  for (const PlaceBytes& create : cut_.create) {
    std::vector<int32_t> before = released[static_cast<size_t>(create.place)];
    before.push_back(commit);
    schedule_.graph.add({.action = Action::create, .place = create.place, .bytes = create.bytes}, before);
    use(create.place, create.bytes);
  }
}

}  // namespace nereus::elastic
