#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <vector>

#include "nereus/cluster/cluster.h"

namespace nereus::simulator {

/// Bytes on their way over some links at once: `links` are indices into a list of capacities.
struct Flow {
  boost::container::small_vector<int32_t, 4> links;  ///< a message between machines crosses four
  double bytes = 0;
  double rate_limit = 0;  ///< bytes per second of this flow alone; 0: none
};

/// Bytes per second of each flow while all run, shared max-min fairly: the rate of a flow can only grow at
/// the cost of one that is no faster (Bertsekas and Gallager, "Data Networks", 6.5.2, progressive filling). A
/// flow without links and limit is infinitely fast. `capacity` is in bytes per second, by link.
std::vector<double> fair_rates(const std::vector<double>& capacity, const std::vector<Flow>& flows);

/// Seconds until each flow has sent its bytes; the rates are shared anew whenever one has finished. Flows
/// that would finish within `tolerance` of the next one count as finished with it.
std::vector<double> drain(const std::vector<double>& capacity, const std::vector<Flow>& flows,
                          double tolerance = 0.01);

/// The links of a cluster: of each device in and out to its machine's others, of each device in and out to
/// its host, of each machine in and out to the network, and of the storage outside. Plain values;
/// thread-safe.
class Links {
 public:
  /// Vendors' bandwidths times what the world gets out of them; `storage` bytes per second for all readers.
  Links(const cluster::Cluster& cluster, double link_efficiency, double network_efficiency, double storage);

  const std::vector<double>& capacity() const { return capacity_; }
  /// What a message from one device to another crosses; empty where they are the same.
  Flow flow(int32_t from, int32_t to, double bytes) const;
  /// From or to the memory of the device's own machine.
  Flow to_host(int32_t device, double bytes) const;
  Flow from_host(int32_t device, double bytes) const;
  Flow from_storage(int32_t device, double bytes) const;
  int32_t devices() const { return static_cast<int32_t>(machine_.size()); }
  int32_t machine(int32_t device) const { return machine_[static_cast<size_t>(device)]; }
  bool same_machine(int32_t a, int32_t b) const { return machine(a) == machine(b); }

 private:
  enum Port : int32_t { link_out, link_in, host_out, host_in, kPorts };

  int32_t port(int32_t device, Port which) const { return device * kPorts + which; }
  int32_t network_out(int32_t device) const { return first_network_ + 2 * machine(device); }
  int32_t network_in(int32_t device) const { return network_out(device) + 1; }

  std::vector<double> capacity_;
  std::vector<int32_t> machine_;  ///< by device
  int32_t first_network_ = 0, storage_ = 0;
};

}  // namespace nereus::simulator
