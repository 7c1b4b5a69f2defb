#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nereus::cluster {

/// What one device can do. Bandwidths are bytes per second and one way.
struct DeviceKind {
  std::string name;             ///< "A100-80"
  double memory = 0;            ///< bytes
  double flops = 0;             ///< peak of dense bf16 products, FLOP/s
  double memory_bandwidth = 0;  ///< of the device's own memory
  double link_bandwidth = 0;    ///< to the other devices of its machine
  double host_bandwidth = 0;    ///< to the machine's memory
  double context = 1.5e9;       ///< bytes that driver, kernels and libraries hold before any tensor

  friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};

/// Devices of one kind that share a host and its network card.
struct Machine {
  std::string name;
  DeviceKind kind;
  int32_t devices = 0;
  double host_memory = 0;        ///< bytes
  double network_bandwidth = 0;  ///< of the whole machine, bytes per second, one way
};

/// Machines on one network. Devices are numbered from 0, machine by machine in order.
struct Cluster {
  std::vector<Machine> machines;
  double link_latency = 5e-6;     ///< seconds a message within a machine
  double network_latency = 2e-5;  ///< seconds a message between machines

  int32_t devices() const;
  int32_t machine_of(int32_t device) const;  ///< REQUIRES: 0 <= device < devices()
  const DeviceKind& kind(int32_t device) const {
    return machines[static_cast<size_t>(machine_of(device))].kind;
  }
  int32_t first_device(int32_t machine) const;  ///< REQUIRES: 0 <= machine <= machines.size()
};

/// The machine of every device: `machine_of` at once.
std::vector<int32_t> machine_of_each(const Cluster& cluster);

/// Vendors' figures of known devices by name ("A100-40", "A100-80", "H100", "H200", "B200", "V100-16", ...);
/// null where unknown.
const DeviceKind* known_device(const std::string& name);
std::vector<std::string> known_device_names();

}  // namespace nereus::cluster
