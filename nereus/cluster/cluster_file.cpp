#include "nereus/cluster/cluster_file.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "nereus/config/nearest_name.h"
#include "nereus/config/text_file.h"

namespace nereus::cluster {

namespace {

constexpr double kGiga = 1e9, kTera = 1e12;
constexpr double kMicros = 1e6;  // in a second
/// Far above any cluster, and small enough for the number of a device.
constexpr int64_t kMaxDevices = 1 << 20;

/// A figure of a device: its key, the optional of the section, the field, and the unit of the key.
struct Figure {
  const char* key;
  std::optional<double> MachineSection::*given;
  double DeviceKind::*field;
  double unit;
  bool required;
};
constexpr Figure kFigures[] = {
    {"memory_gb", &MachineSection::memory_gb, &DeviceKind::memory, kGiga, true},
    {"tflops_bf16", &MachineSection::tflops_bf16, &DeviceKind::flops, kTera, true},
    {"memory_gb_s", &MachineSection::memory_gb_s, &DeviceKind::memory_bandwidth, kGiga, true},
    {"link_gb_s", &MachineSection::link_gb_s, &DeviceKind::link_bandwidth, kGiga, true},
    {"host_gb_s", &MachineSection::host_gb_s, &DeviceKind::host_bandwidth, kGiga, true},
    {"context_gb", &MachineSection::context_gb, &DeviceKind::context, kGiga, false},
};

/// "unknown device "A100-8"; did you mean "A100-80"? A device of your own needs ..."
std::string unknown_device(const std::string& name, const std::vector<std::string>& missing) {
  const auto names = known_device_names();
  const auto nearest = config::nearest_name(name, names);
  const std::string known = nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                                    : fmt::format("known are {}.", fmt::join(names, ", "));
  return fmt::format("unknown device \"{}\"; {} A device of your own also needs {}", name, known,
                     fmt::join(missing, ", "));
}

Result<DeviceKind> device_of(const MachineSection& section, const std::string& key,
                             const config::Places& places) {
  const DeviceKind* known = known_device(section.device);
  DeviceKind kind = known == nullptr ? DeviceKind{} : *known;
  kind.name = section.device;
  std::vector<std::string> missing;
  for (const auto& figure : kFigures) {
    if (const auto& given = section.*figure.given)
      kind.*figure.field = *given * figure.unit;
    else if (known == nullptr && figure.required)
      missing.emplace_back(figure.key);
  }
  if (section.device.empty())
    return fail("{}: {}.device is missing: expected the name of a device, such as \"A100-80\"",
                places.of(key), key);
  if (!missing.empty())
    return fail("{}: {}.device: {}", places.of(key + ".device"), key,
                unknown_device(section.device, missing));
  if (kind.context >= kind.memory)
    return fail("{}: {}: context_gb = {} leaves nothing of the device's {} GB", places.of(key), key,
                kind.context / kGiga, kind.memory / kGiga);
  return kind;
}

Result<Machine> machine_of(const MachineSection& section, const std::string& key, bool alone,
                           const config::Places& places) {
  auto kind = device_of(section, key, places);
  if (!kind) return pass(kind);
  if (!alone && !section.network_gb_s)
    return fail("{}: {}.network_gb_s is missing: expected GB/s, one way, since there are several machines",
                places.of(key), key);
  Machine machine;
  machine.devices = section.devices;
  machine.host_memory = section.host_memory_gb ? *section.host_memory_gb * kGiga
                                               : 2 * kind->memory * static_cast<double>(section.devices);
  machine.network_bandwidth = section.network_gb_s ? *section.network_gb_s * kGiga : kind->host_bandwidth;
  machine.kind = std::move(*kind);
  return machine;
}

/// Of the machine `k` of its section, `index` of all.
std::string name_of(const MachineSection& section, int32_t k, size_t index) {
  if (section.name.empty()) return fmt::format("machine-{}", index);
  return section.count == 1 ? section.name : fmt::format("{}-{}", section.name, k);
}

Result<Cluster> cluster_of(const config::Document<ClusterSections>& document, const std::string& source) {
  const auto& [sections, places] = document;
  if (sections.machines.empty()) return fail("{}: expected at least one [[machine]]", source);
  Cluster cluster;
  cluster.link_latency = sections.link_latency_us / kMicros;
  cluster.network_latency = sections.latency_us / kMicros;
  const bool alone = sections.machines.size() == 1 && sections.machines[0].count == 1;
  int64_t devices = 0;
  for (size_t i = 0; i < sections.machines.size(); ++i) {
    const auto& section = sections.machines[i];
    const std::string key = fmt::format("machine.{}", i);
    auto machine = machine_of(section, key, alone, places);
    if (!machine) return pass(machine);
    devices += int64_t{section.count} * section.devices;
    if (devices > kMaxDevices)
      return fail("{}: {}: expected at most {} devices in all", places.of(key), key, kMaxDevices);
    for (int32_t k = 0; k < section.count; ++k) {
      machine->name = name_of(section, k, cluster.machines.size());
      cluster.machines.push_back(*machine);
    }
  }
  return cluster;
}

}  // namespace

Result<Cluster> parse_cluster(std::string_view text, const std::string& source,
                              const config::Overrides& overrides) {
  const auto schema = cluster_schema();
  auto document = schema.read(text, source, ".");
  if (!document) return pass(document);
  if (auto status = schema.set(*document, overrides); !status) return pass(status);
  return cluster_of(*document, source);
}

Result<Cluster> read_cluster(const std::filesystem::path& file, const config::Overrides& overrides) {
  const auto text = config::read_text_file(file);
  if (!text) return pass(text);
  return parse_cluster(*text, file.string(), overrides);
}

namespace {

bool alike(const Machine& a, const Machine& b) {
  return a.kind == b.kind && a.devices == b.devices && a.host_memory == b.host_memory &&
         a.network_bandwidth == b.network_bandwidth;
}

/// Machines from `first` that are alike and named NAME-0, NAME-1, ...
int32_t run_of(const std::vector<Machine>& machines, size_t first, const std::string& name) {
  size_t end = first;
  while (end < machines.size() && alike(machines[end], machines[first]) &&
         machines[end].name == fmt::format("{}-{}", name, end - first))
    ++end;
  return static_cast<int32_t>(end - first);
}

MachineSection section_of(const Machine& machine) {
  MachineSection section;
  section.name = machine.name;
  section.devices = machine.devices;
  section.device = machine.kind.name;
  for (const auto& figure : kFigures) section.*figure.given = machine.kind.*figure.field / figure.unit;
  section.host_memory_gb = machine.host_memory / kGiga;
  section.network_gb_s = machine.network_bandwidth / kGiga;
  return section;
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  ClusterSections sections;
  sections.link_latency_us = cluster.link_latency * kMicros;
  sections.latency_us = cluster.network_latency * kMicros;
  for (size_t i = 0; i < cluster.machines.size();) {
    auto section = section_of(cluster.machines[i]);
    const std::string base = section.name.substr(0, section.name.rfind('-'));
    section.count = run_of(cluster.machines, i, base);
    if (section.count > 1)
      section.name = base;
    else
      section.count = 1;
    i += static_cast<size_t>(section.count);
    sections.machines.push_back(std::move(section));
  }
  return cluster_schema().text(sections);
}

Cluster with_devices(const Cluster& cluster, int32_t devices) {
  Cluster result = cluster;
  result.machines.clear();
  for (size_t i = 0; devices > 0; ++i) {
    Machine machine = cluster.machines[i % cluster.machines.size()];
    machine.devices = std::min(machine.devices, devices);
    devices -= machine.devices;
    if (i >= cluster.machines.size()) machine.name = fmt::format("machine-{}", i);
    result.machines.push_back(std::move(machine));
  }
  return result;
}

}  // namespace nereus::cluster
