#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/config/overrides.h"
#include "nereus/config/schema.h"

namespace nereus::cluster {

/// One [[machine]] of a cluster file: `count` machines alike. GB are 10^9 bytes; GB/s are one way.
struct MachineSection {
  std::string name;  ///< of a single machine; of several, NAME-0, NAME-1, ...; empty: "machine"
  int32_t count = 1;
  int32_t devices = 8;  ///< of each machine
  std::string device;   ///< a known one, or any name where the figures below are given
  std::optional<double> memory_gb, tflops_bf16, memory_gb_s, link_gb_s,
      host_gb_s;  ///< absent: the known ones
  std::optional<double> context_gb;
  std::optional<double> host_memory_gb;  ///< absent: twice the memory of the devices
  std::optional<double> network_gb_s;    ///< of the machine; needed where there are several machines
};

/// A cluster file as it stands.
struct ClusterSections {
  double link_latency_us = 5;  ///< [network]: a message within a machine
  double latency_us = 20;      ///< and between machines
  std::vector<MachineSection> machines;
};

/// What a cluster file may say.
config::Schema<ClusterSections> cluster_schema();
/// Tables of all keys in Markdown, for docs/cluster-files.md.
std::string cluster_reference();

/// Reads a cluster file. `overrides` are set after it ("machine.0.count", "4"). Error: FILE:LINE (or --key)
/// with the key and what was expected; unknown keys and devices with the nearest known name.
Result<Cluster> read_cluster(const std::filesystem::path& file, const config::Overrides& overrides = {});
/// The same from text; `source` names it in errors.
Result<Cluster> parse_cluster(std::string_view text, const std::string& source,
                              const config::Overrides& overrides = {});

/// The cluster as a file that reads back as the same one, every figure written out. Alike machines that are
/// named NAME-0, NAME-1, ... become one [[machine]].
std::string cluster_text(const Cluster& cluster);

/// The cluster with another number of devices: its machines are taken in order, again from the first where
/// they do not suffice, and the last one with fewer devices where they are too many. REQUIRES: devices > 0
/// and a machine.
Cluster with_devices(const Cluster& cluster, int32_t devices);

}  // namespace nereus::cluster
