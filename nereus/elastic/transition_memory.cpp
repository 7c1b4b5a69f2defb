#include "nereus/elastic/transition_memory.h"

#include <algorithm>
#include <functional>

namespace nereus::elastic {
namespace {

double gigabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

/// Adds the bytes of a state to those of its places.
void add_state(const ModelState& state, const PlaceSets& sets, std::vector<int64_t>& used) {
  for (const Lane& lane : state.lanes) {
    for (const Holding& holding : lane.holdings) {
      const int64_t bytes = holding.box.elements() * lane.element_bytes;
      for (const int32_t place : sets[holding.places]) used[static_cast<size_t>(place)] += bytes;
    }
  }
}

/// What a device may hold of state and pools.
int64_t room(const cluster::Cluster& cluster, const TransitionOptions& options, int32_t device,
             bool buffers) {
  const auto i = static_cast<size_t>(device);
  int64_t bytes = static_cast<int64_t>(options.memory_share * cluster.kind(device).memory) -
                  static_cast<int64_t>(cluster.kind(device).context);
  if (buffers) bytes -= options.messages_in_flight * options.message_bytes;
  if (i < options.reserved.size()) bytes -= options.reserved[i];
  return bytes;
}

Status check_place(const Places& places, int32_t place, const char* which, int64_t bytes, int64_t most) {
  if (bytes <= most || bytes == 0) return {};
  return fail(
      "{}: the {} plan holds {:.3f} GB there, {:.3f} GB more than the {:.3f} GB that are left by its "
      "context and the buffers of a transition",
      places.name(place), which, gigabytes(bytes), gigabytes(bytes - most), gigabytes(most));
}

}  // namespace

Memory memory_of(const cluster::Cluster& cluster, const TransitionOptions& options,
                 const Transition& transition, int32_t lost) {
  const Places& places = transition.places;
  Memory memory;
  memory.used.assign(static_cast<size_t>(places.count()), 0);
  for (const ModelChange& change : transition.models) add_state(change.before, transition.sets, memory.used);
  for (int32_t place = 0; place < places.count(); ++place)
    memory.capacity.push_back(places.is_device(place) ? room(cluster, options, place, true)
                                                      : places.capacity(place));
  for (size_t i = 0; i < options.kv_before.size(); ++i) {
    if (!transition.sets.contains(lost, static_cast<int32_t>(i))) memory.used[i] += options.kv_before[i];
  }
  return memory;
}

Status check_memory(const cluster::Cluster& cluster, const TransitionOptions& options,
                    const Transition& transition) {
  std::vector<int64_t> after(transition.memory.used.size(), 0);
  for (const ModelChange& change : transition.models) add_state(change.after, transition.sets, after);
  for (size_t i = 0; i < options.kv_after.size(); ++i) after[i] += options.kv_after[i];
  std::vector<bool> grows(after.size(), false);
  for (const auto* list : {&transition.cut.fill, &transition.cut.create}) {
    for (const PlaceBytes& bytes : *list) grows[static_cast<size_t>(bytes.place)] = true;
  }
  for (int32_t place = 0; place < transition.places.count(); ++place) {
    const auto i = static_cast<size_t>(place);
    const int64_t before = transition.memory.used[i];
    const int64_t most = transition.places.is_device(place) ? room(cluster, options, place, false)
                                                            : transition.memory.capacity[i];
    if (auto status = check_place(transition.places, place, "old", before, most); !status) return status;
    if (!grows[i] && after[i] <= before) continue;
    if (auto status = check_place(transition.places, place, "new", after[i], transition.memory.capacity[i]);
        !status)
      return status;
  }
  return {};
}

bool room_for_all(const Transition& transition) {
  std::vector<int64_t> all = transition.memory.used;
  for (const PlaceBytes& fill : transition.cut.fill) all[static_cast<size_t>(fill.place)] += fill.bytes;
  return std::equal(all.begin(), all.end(), transition.memory.capacity.begin(), std::less_equal<>());
}

int64_t finer_bundles(const TransitionOptions& options, const Transition& transition) {
  std::vector<int64_t> free(transition.memory.used.size());
  for (size_t i = 0; i < free.size(); ++i)
    free[i] = transition.memory.capacity[i] - transition.memory.used[i];
  for (const PlaceBytes& drop : transition.cut.drop) free[static_cast<size_t>(drop.place)] += drop.bytes;
  for (size_t i = 0; i < options.kv_before.size(); ++i) free[i] += options.kv_before[i];
  std::vector<int64_t> rest = free;
  for (const PlaceBytes& fill : transition.cut.fill) rest[static_cast<size_t>(fill.place)] -= fill.bytes;
  int64_t least = options.bundle_bytes;
  for (size_t i = 0; i < free.size(); ++i) {
    if (rest[i] < 0) least = std::min(least, free[i] / 2);
  }
  return least >= options.bundle_bytes ? 0 : std::max(least, options.bundle_bytes / 32);
}

}  // namespace nereus::elastic
