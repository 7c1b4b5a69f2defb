#include "nereus/plan/model_state.h"

#include <algorithm>

namespace nereus::plan {
namespace {

/// Which options of a model have weights of their own on a device while `running` runs (null: while none of
/// them does): of those that share, the first that is there.
std::vector<bool> weight_copies(const std::vector<const Option*>& options, const Option* running) {
  std::vector<bool> result(options.size(), false);
  const auto there = [&](const Option* o) {
    return o != nullptr && (o == running || !o->placement.leaves_when_idle);
  };
  for (size_t i = 0; i < options.size(); ++i) {
    if (!there(options[i])) continue;
    result[i] = true;
    for (size_t j = 0; j < i; ++j) {
      if (there(options[j]) && options[j]->shares_weights(*options[i])) result[i] = false;
    }
  }
  return result;
}

/// Bytes by class while `running` runs; classes where it has no device count 0.
std::vector<double> bytes_during(const std::vector<const Option*>& options, const Option* running,
                                 const DeviceClasses& classes) {
  std::vector<double> result(classes.count(), 0);
  const std::vector<bool> copies = weight_copies(options, running);
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == nullptr) continue;
    const bool runs = options[i] == running;
    if (!runs && options[i]->placement.leaves_when_idle) continue;
    const std::vector<int32_t>& pipeline = classes.pipeline(options[i]->grid);
    for (size_t c = 0; c < result.size(); ++c) {
      if (pipeline[c] < 0) continue;
      const Need& need = options[i]->needs[static_cast<size_t>(pipeline[c])];
      result[c] += (runs ? need.running : need.idle) + (copies[i] ? need.weights : 0);
    }
  }
  if (running == nullptr) return result;
  const std::vector<int32_t>& pipeline = classes.pipeline(running->grid);
  for (size_t c = 0; c < result.size(); ++c) {
    if (pipeline[c] < 0) result[c] = 0;
  }
  return result;
}

std::vector<double> host_bytes(const std::vector<const Option*>& options, const DeviceClasses& classes) {
  std::vector<double> result(classes.hosts(), 0);
  for (const Option* option : options) {
    if (option == nullptr || !option->placement.leaves_when_idle) continue;
    const std::vector<int32_t>& pipeline = classes.pipeline(option->grid);
    for (size_t host = 0; host < result.size(); ++host) {
      for (size_t c = 0; c < classes.count(); ++c) {
        if (pipeline[c] < 0) continue;
        const Need& need = option->needs[static_cast<size_t>(pipeline[c])];
        result[host] += classes.host_devices(host)[c] * (need.weights + need.idle);
      }
    }
  }
  return result;
}

void without_kv(std::vector<double>& bytes, const Option& generate, const DeviceClasses& classes) {
  const std::vector<int32_t>& pipeline = classes.pipeline(generate.grid);
  for (size_t c = 0; c < bytes.size(); ++c) {
    if (pipeline[c] >= 0) bytes[c] -= generate.needs[static_cast<size_t>(pipeline[c])].kv;
  }
}

bool no_more(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

std::vector<double> with_slack(std::vector<double> bytes) {
  for (double& value : bytes) value *= 1 + 1e-9;
  return bytes;
}

}  // namespace

State join(const State& a, const State& b) {
  State result = a;
  for (size_t i = 0; i < b.options.size(); ++i) {
    if (b.options[i] != nullptr) result.options[i] = b.options[i];
  }
  result.sync += b.sync;
  if (b.generate != nullptr) {
    result.generate = b.generate;
    result.base = b.base;
  }
  for (size_t c = 0; c < a.idle.size(); ++c) {
    result.peak[c] = std::max(a.peak[c] + b.idle[c], a.idle[c] + b.peak[c]);
    result.idle[c] = a.idle[c] + b.idle[c];
    if (result.generate != nullptr) result.base[c] += result.generate == a.generate ? b.idle[c] : a.idle[c];
  }
  for (size_t host = 0; host < a.host.size(); ++host) result.host[host] += b.host[host];
  return result;
}

StateMaker::StateMaker(const Pricing& pricing, const DeviceClasses& classes)
    : pricing_(pricing),
      classes_(classes),
      room_(with_slack(classes.room())),
      host_room_(with_slack(classes.host_room())) {}

bool StateMaker::has_room(const State& state) const {
  return no_more(state.peak, room_) && no_more(state.host, host_room_);
}

std::vector<double> Front::seconds_of(const State& state) const {
  std::vector<double> seconds{state.sync, 0};
  for (size_t i = 0; i < state.options.size(); ++i) {
    if (state.options[i] == nullptr || choices_[i].what.stage == Stage::generate) continue;
    if (!shared_) {
      seconds.push_back(state.options[i]->seconds);
    } else {
      seconds[choices_[i].what.stage == Stage::train ? 0 : 1] += state.options[i]->seconds;
    }
  }
  return seconds;
}

bool Front::beats(size_t kept, const std::vector<double>& seconds, const State& state) const {
  const State& other = states_[kept];
  return other.generate == state.generate && no_more(seconds_[kept], seconds) &&
         no_more(other.peak, state.peak) && no_more(other.idle, state.idle) &&
         no_more(other.base, state.base) && no_more(other.host, state.host);
}

void Front::add(State state) {
  std::vector<double> seconds = seconds_of(state);
  for (size_t kept = 0; kept < states_.size(); ++kept) {
    if (beats(kept, seconds, state)) return;
  }
  states_.push_back(std::move(state));
  seconds_.push_back(std::move(seconds));
}

double StateMaker::sync(const Option& from, const Option& to) {
  if (from.shares_weights(to)) return 0;
  const auto key = std::make_tuple(from.grid, from.shards_weights(), to.grid, to.placement.what.role);
  const auto [found, added] = pricing_.syncs.try_emplace(key, 0);
  if (added) {
    found->second =
        sync_time(pricing_.cluster, pricing_.job, placement_of(from), placement_of(to), pricing_.calibration);
  }
  return found->second;
}

double StateMaker::sync(const std::vector<const Option*>& options) {
  const auto train = std::find_if(options.begin(), options.end(), [](const Option* o) {
    return o != nullptr && o->placement.what.stage == Stage::train;
  });
  if (train == options.end()) return 0;
  double seconds = 0;
  for (const Option* option : options) {
    if (option != nullptr && option != *train) seconds += sync(**train, *option);
  }
  return seconds;
}

std::optional<State> StateMaker::make(std::vector<const Option*> options) {
  State state;
  state.options = std::move(options);
  state.peak.resize(classes_.count(), 0);
  for (const Option* option : state.options) {
    if (option == nullptr) continue;
    std::vector<double> bytes = bytes_during(state.options, option, classes_);
    if (!no_more(bytes, room_)) return std::nullopt;
    for (size_t c = 0; c < bytes.size(); ++c) state.peak[c] = std::max(state.peak[c], bytes[c]);
    if (option->placement.what.stage != Stage::generate) continue;
    without_kv(bytes, *option, classes_);
    state.generate = option;
    state.base = std::move(bytes);
  }
  state.idle = bytes_during(state.options, nullptr, classes_);
  state.host = host_bytes(state.options, classes_);
  if (!no_more(state.host, host_room_)) return std::nullopt;
  state.sync = sync(state.options);
  return state;
}

}  // namespace nereus::plan
