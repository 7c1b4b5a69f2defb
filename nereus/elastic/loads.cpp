#include "nereus/elastic/loads.h"

#include <fmt/format.h>

#include <algorithm>

namespace nereus::elastic {

Loads::Loads(const cluster::Cluster& cluster, const Places& places, double checkpoint_bandwidth,
             int32_t in_flight)
    : places_(places),
      link_latency_(cluster.link_latency),
      network_latency_(cluster.network_latency),
      in_flight_(std::max(1, in_flight)),
      slots_(std::max(places.devices(), places.machines())),
      per_byte_(static_cast<size_t>(kEndpoints) * static_cast<size_t>(slots_), 0),
      seconds_(per_byte_),
      with_latency_(per_byte_) {
  int32_t device = 0;
  for (int32_t index = 0; index < places.machines(); ++index) {
    const cluster::Machine& machine = cluster.machines[static_cast<size_t>(index)];
    for (const Endpoint endpoint : {network_out, network_in})
      per_byte_[slot(endpoint, index)] = 1 / machine.network_bandwidth;
    per_byte_[slot(checkpoint_in, index)] = 1 / checkpoint_bandwidth;
    for (int32_t i = 0; i < machine.devices; ++i, ++device) {
      for (const Endpoint endpoint : {link_out, link_in})
        per_byte_[slot(endpoint, device)] = 1 / machine.kind.link_bandwidth;
      for (const Endpoint endpoint : {host_out, host_in})
        per_byte_[slot(endpoint, device)] = 1 / machine.kind.host_bandwidth;
    }
  }
}

Distance Loads::distance(int32_t source, int32_t target) const {
  if (source == target) return Distance::same_place;
  if (source == places_.checkpoint() || places_.machine(source) != places_.machine(target))
    return Distance::remote;
  return Distance::same_machine;
}

size_t Loads::uses(int32_t source, int32_t target, std::array<size_t, 4>& found) const {
  size_t count = 0;
  const bool from_device = places_.is_device(source), to_device = places_.is_device(target);
  switch (distance(source, target)) {
    case Distance::same_place:
      return 0;
    case Distance::same_machine:
      if (from_device) found[count++] = slot(to_device ? link_out : host_out, source);
      if (to_device) found[count++] = slot(from_device ? link_in : host_in, target);
      return count;
    case Distance::remote:
      break;
  }
  const int32_t machine = places_.machine(target);
  if (source == places_.checkpoint()) {
    found[count++] = slot(checkpoint_in, machine);
  } else {
    if (from_device) found[count++] = slot(host_out, source);
    found[count++] = slot(network_out, places_.machine(source));
    found[count++] = slot(network_in, machine);
  }
  if (to_device) found[count++] = slot(host_in, target);
  return count;
}

void Loads::add(int32_t source, int32_t target, int64_t bytes, int64_t messages) {
  std::array<size_t, 4> found{};
  const size_t count = uses(source, target, found);
  const double wait = latency(source, target) * static_cast<double>(messages) / in_flight_;
  for (size_t i = 0; i < count; ++i) {
    const double seconds = static_cast<double>(bytes) * per_byte_[found[i]];
    seconds_[found[i]] += seconds;
    const bool shared = found[i] >= slot(network_out, 0);  // of a machine: its devices wait at the same time
    with_latency_[found[i]] += shared ? seconds : seconds + wait;
  }
}

double Loads::entering(int32_t place) const {
  return places_.is_device(place) ? seconds_[slot(host_in, place)] : 0;
}

double Loads::alone(int32_t source, int32_t target, int64_t bytes) const {
  std::array<size_t, 4> found{};
  const size_t count = uses(source, target, found);
  double slowest = 0;
  for (size_t i = 0; i < count; ++i) slowest = std::max(slowest, per_byte_[found[i]]);
  return slowest * static_cast<double>(bytes);
}

double Loads::latency(int32_t source, int32_t target) const {
  return distance(source, target) == Distance::remote ? network_latency_ : link_latency_;
}

double Loads::busiest() const {
  return seconds_.empty() ? 0 : *std::max_element(seconds_.begin(), seconds_.end());
}

double Loads::busiest_with_latency() const {
  return with_latency_.empty() ? 0 : *std::max_element(with_latency_.begin(), with_latency_.end());
}

std::string Loads::busiest_name() const {
  if (busiest() == 0) return "nothing";
  const auto at = static_cast<int32_t>(std::max_element(seconds_.begin(), seconds_.end()) - seconds_.begin());
  const int32_t index = at % slots_;
  switch (at / slots_) {
    case link_out:
      return fmt::format("the links of device {}, out", index);
    case link_in:
      return fmt::format("the links of device {}, in", index);
    case host_out:
      return fmt::format("the host link of device {}, out", index);
    case host_in:
      return fmt::format("the host link of device {}, in", index);
    case network_out:
      return fmt::format("the network of machine {}, out", index);
    case network_in:
      return fmt::format("the network of machine {}, in", index);
    default:
      return fmt::format("the checkpoint, read by machine {}", index);
  }
}

}  // namespace nereus::elastic
