#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nereus/cluster/cluster.h"
#include "nereus/elastic/places.h"

namespace nereus::elastic {

/// How far one endpoint lies from another.
enum class Distance : uint8_t { same_place, same_machine, remote };

/// Seconds that transfers keep each endpoint busy, each way: a device's link to its neighbours, its link to
/// the host (which also leads to the network), a machine's network card, and what a machine reads from the
/// checkpoint. Not thread-safe.
class Loads {
 public:
  /// `checkpoint_bandwidth`: bytes per second that one machine reads. The latency of a message is hidden
  /// while others are on their way: `in_flight` of them on each link of a device.
  Loads(const cluster::Cluster& cluster, const Places& places, double checkpoint_bandwidth,
        int32_t in_flight);

  Distance distance(int32_t source, int32_t target) const;
  /// Adds a transfer of `messages` messages to every endpoint it uses.
  void add(int32_t source, int32_t target, int64_t bytes, int64_t messages);
  /// When the sending side would be done if the transfer were added: what sources are compared by. The
  /// receiving side is the same for all of them, but for what comes from its own host. `delay`: bytes that
  /// the source itself still waits for.
  double send_done(int32_t source, int32_t target, int64_t bytes, int64_t delay) const {
    const auto size = static_cast<double>(bytes + delay);
    if (source == places_.checkpoint()) return done(checkpoint_in, places_.machine(target), size);
    const int32_t machine = places_.machine(source);
    const bool from_device = places_.is_device(source), to_device = places_.is_device(target);
    if (machine != places_.machine(target)) {
      const double network = done(network_out, machine, size);
      return from_device ? std::max(network, done(host_out, source, size)) : network;
    }
    if (!from_device) return to_device ? done(host_in, target, size) : 0;
    return done(to_device ? link_out : host_out, source, size);
  }
  /// Seconds that the place has been receiving from outside its machine or from its host.
  double entering(int32_t place) const;
  /// Seconds of the transfer alone.
  double alone(int32_t source, int32_t target, int64_t bytes) const;
  /// Seconds per message on the way.
  double latency(int32_t source, int32_t target) const;

  /// The busiest endpoint, in seconds; of the bytes alone, and with the latency of messages.
  double busiest() const;
  double busiest_with_latency() const;
  /// "the network of machine 3, in": the busiest endpoint by bytes.
  std::string busiest_name() const;

 private:
  enum Endpoint : int32_t { link_out, link_in, host_out, host_in, network_out, network_in, checkpoint_in };
  static constexpr int32_t kEndpoints = 7;

  size_t slot(Endpoint endpoint, int32_t index) const {
    return static_cast<size_t>(endpoint * slots_ + index);
  }
  double done(Endpoint endpoint, int32_t index, double bytes) const {
    return seconds_[slot(endpoint, index)] + bytes * per_byte_[slot(endpoint, index)];
  }
  /// The endpoints of a transfer; their number is returned.
  size_t uses(int32_t source, int32_t target, std::array<size_t, 4>& found) const;

  const Places& places_;
  double link_latency_, network_latency_;
  int32_t in_flight_;
  int32_t slots_ = 0;                                      // devices or machines, whichever are more
  std::vector<double> per_byte_, seconds_, with_latency_;  // by endpoint, then device or machine
};

}  // namespace nereus::elastic
