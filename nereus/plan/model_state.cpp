#include "nereus/plan/model_state.h"

#include <algorithm>
#include <numeric>

namespace nereus::plan {
namespace {

/// Which options of a model have weights of their own on a device while `running` runs (null: while none of
/// them does), as bits: of those that share, the first that is there.
uint32_t weight_copies(const std::vector<const Option*>& options, const Option* running) {
  uint32_t result = 0;
  const auto there = [&](const Option* o) {
    return o != nullptr && (o == running || !o->placement.leaves_when_idle);
  };
  for (size_t i = 0; i < options.size(); ++i) {
    if (!there(options[i])) continue;
    bool own = true;
    for (size_t j = 0; j < i && own; ++j)
      own = !there(options[j]) || !options[j]->shares_weights(*options[i]);
    if (own) result |= 1U << i;
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

void add(const std::vector<double>& values, std::vector<double>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
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
  result.costs = a.costs + b.costs;
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

bool StateMaker::has_room(const State& a, const State& b) const {
  for (size_t c = 0; c < room_.size(); ++c) {
    if (a.peak[c] + b.idle[c] > room_[c] || a.idle[c] + b.peak[c] > room_[c]) return false;
  }
  for (size_t host = 0; host < host_room_.size(); ++host) {
    if (a.host[host] + b.host[host] > host_room_[host]) return false;
  }
  return true;
}

Front::Measure Front::measure_of(const State& state) const {
  Measure measure{state.generate, 0, {state.sync, 0}};
  std::vector<double>& values = measure.values;
  values.reserve(2 + state.options.size() + 3 * state.peak.size() + state.host.size());
  for (size_t i = 0; i < state.options.size(); ++i) {
    if (state.options[i] == nullptr || choices_[i].what.stage == Stage::generate) continue;
    if (!shared_) {
      values.push_back(state.options[i]->seconds);
    } else {
      values[rewarded_ && choices_[i].what.stage == Stage::infer ? 1 : 0] += state.options[i]->seconds;
    }
  }
  for (const std::vector<double>* bytes : {&state.peak, &state.idle, &state.base, &state.host}) {
    values.insert(values.end(), bytes->begin(), bytes->end());
    measure.sum = std::accumulate(bytes->begin(), bytes->end(), measure.sum);
  }
  return measure;
}

bool Front::beats(const Measure& a, const Measure& b) {
  return a.generate == b.generate && a.sum <= b.sum * (1 + 1e-12) && no_more(a.values, b.values);
}

void Front::add(State state) {
  Measure measure = measure_of(state);
  for (const Measure& kept : measures_) {
    if (beats(kept, measure)) return;
  }
  states_.push_back(std::move(state));
  measures_.push_back(std::move(measure));
}

double sync_seconds(const Pricing& pricing, const Option& from, const Option& to) {
  if (from.shares_weights(to)) return 0;
  const auto key = std::make_tuple(from.grid, from.shards_weights(), to.grid, to.placement.what.role);
  const auto [found, added] = pricing.syncs.try_emplace(key, 0);
  if (added) {
    found->second =
        sync_time(pricing.cluster, pricing.job, placement_of(from), placement_of(to), pricing.calibration);
  }
  return found->second;
}

double StateMaker::sync(const std::vector<const Option*>& options) const {
  const auto train = std::find_if(options.begin(), options.end(), [](const Option* o) {
    return o != nullptr && o->placement.what.stage == Stage::train;
  });
  if (train == options.end()) return 0;
  double seconds = 0;
  for (const Option* option : options) {
    if (option != nullptr && option != *train) seconds += sync_seconds(pricing_, **train, *option);
  }
  return seconds;
}

const StateMaker::ByClass& StateMaker::by_class(const Option& option) {
  const auto [found, added] = by_class_.try_emplace(&option);
  ByClass& bytes = found->second;
  if (!added) return bytes;
  const std::vector<int32_t>& pipeline = classes_.pipeline(option.grid);
  for (std::vector<double>* values : {&bytes.weights, &bytes.idle, &bytes.running, &bytes.there})
    values->resize(classes_.count(), 0);
  bytes.host.resize(classes_.hosts(), 0);
  for (size_t c = 0; c < classes_.count(); ++c) {
    if (pipeline[c] < 0) continue;
    const Need& need = option.needs[static_cast<size_t>(pipeline[c])];
    bytes.weights[c] = need.weights;
    bytes.idle[c] = need.idle;
    bytes.running[c] = need.running;
    bytes.there[c] = 1;
    if (!option.placement.leaves_when_idle) continue;
    for (size_t host = 0; host < bytes.host.size(); ++host)
      bytes.host[host] += classes_.host_devices(host)[c] * (need.weights + need.idle);
  }
  return bytes;
}

std::vector<double> StateMaker::bytes_during(const std::vector<const Option*>& options,
                                             const Option* running) const {
  std::vector<double> result(classes_.count(), 0);
  const uint32_t copies = weight_copies(options, running);
  const ByClass* runs = nullptr;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == nullptr) continue;
    if (options[i] == running) runs = held_[i];
    if (options[i] != running && options[i]->placement.leaves_when_idle) continue;
    add(options[i] == running ? held_[i]->running : held_[i]->idle, result);
    if ((copies >> i & 1U) != 0) add(held_[i]->weights, result);
  }
  if (runs == nullptr) return result;
  for (size_t c = 0; c < result.size(); ++c) result[c] *= runs->there[c];
  return result;
}

std::vector<double> StateMaker::host_bytes(const std::vector<const Option*>& options) const {
  std::vector<double> result(classes_.hosts(), 0);
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] != nullptr && options[i]->placement.leaves_when_idle) add(held_[i]->host, result);
  }
  return result;
}

std::optional<State> StateMaker::make(std::vector<const Option*> options) {
  State state;
  state.options = std::move(options);
  held_.clear();
  for (const Option* option : state.options)
    held_.push_back(option == nullptr ? nullptr : &by_class(*option));
  state.peak.resize(classes_.count(), 0);
  for (const Option* option : state.options) {
    if (option == nullptr) continue;
    std::vector<double> bytes = bytes_during(state.options, option);
    if (!no_more(bytes, room_)) return std::nullopt;
    for (size_t c = 0; c < bytes.size(); ++c) state.peak[c] = std::max(state.peak[c], bytes[c]);
    if (option->placement.what.stage != Stage::generate) continue;
    without_kv(bytes, *option, classes_);
    state.generate = option;
    state.base = std::move(bytes);
  }
  state.idle = bytes_during(state.options, nullptr);
  state.host = host_bytes(state.options);
  if (!no_more(state.host, host_room_)) return std::nullopt;
  state.sync = sync(state.options);
  return state;
}

}  // namespace nereus::plan
