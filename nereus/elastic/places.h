#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/cluster/cluster.h"

namespace nereus::elastic {

/// Numbers whatever can hold bytes: the devices as the cluster numbers them, then the memory of each machine,
/// then the checkpoint, which every machine reads. Immutable, so thread-safe.
class Places {
 public:
  Places() = default;
  explicit Places(const cluster::Cluster& cluster);

  int32_t devices() const { return devices_; }
  int32_t machines() const { return static_cast<int32_t>(machine_names_.size()); }
  /// Devices and hosts; the checkpoint is not among them.
  int32_t count() const { return devices_ + machines(); }
  int32_t host(int32_t machine) const { return devices_ + machine; }
  int32_t checkpoint() const { return count(); }

  bool is_device(int32_t place) const { return place < devices_; }
  bool is_host(int32_t place) const { return place >= devices_ && place < count(); }
  /// The machine of a device or host. REQUIRES: place < count().
  int32_t machine(int32_t place) const { return machine_[static_cast<size_t>(place)]; }
  /// Bytes of memory. REQUIRES: place < count().
  int64_t capacity(int32_t place) const { return capacity_[static_cast<size_t>(place)]; }
  /// "device 3 (machine a, A100-80)", "the memory of machine a", "the checkpoint".
  std::string name(int32_t place) const;

 private:
  int32_t devices_ = 0;
  std::vector<int32_t> machine_;
  std::vector<int64_t> capacity_;
  std::vector<std::string> machine_names_, kinds_;
};

}  // namespace nereus::elastic
