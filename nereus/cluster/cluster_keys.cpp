#include "nereus/cluster/cluster_file.h"
#include "nereus/config/reference.h"

namespace nereus::cluster {

namespace {

using config::above;
using config::at_least;
using config::between;
using config::KeyTable;

KeyTable<ClusterSections> network_keys() {
  KeyTable<ClusterSections> keys;
  keys.add(
      "network.latency_us", [](auto& c) -> auto& { return c.latency_us; },
      "Microseconds that a message between machines takes beside its bytes.", at_least(0));
  keys.add(
      "network.link_latency_us", [](auto& c) -> auto& { return c.link_latency_us; },
      "Microseconds that a message between devices of one machine takes beside its bytes.", at_least(0));
  return keys;
}

void add_machine(KeyTable<MachineSection>& keys) {
  keys.add(
      "machine.name", [](auto& m) -> auto& { return m.name; },
      "Name of the machine; of several, NAME-0, NAME-1 and so on.");
  keys.add(
      "machine.count", [](auto& m) -> auto& { return m.count; }, "Machines of this kind.",
      between(1, 1 << 20));
  keys.add(
      "machine.devices", [](auto& m) -> auto& { return m.devices; }, "Devices of each machine.",
      between(1, 4096));
  keys.add(
      "machine.host_memory_gb", [](auto& m) -> auto& { return m.host_memory_gb; },
      "Memory of each machine outside its devices. Unset: twice that of its devices.", above(0));
  keys.add(
      "machine.network_gb_s", [](auto& m) -> auto& { return m.network_gb_s; },
      "GB/s of each machine's network, one way. An InfiniBand card of 400 Gbit/s (NDR) is 50. Needed where "
      "there "
      "are several machines; of a single one host_gb_s where unset.",
      above(0));
}

void add_device(KeyTable<MachineSection>& keys) {
  keys.add(
      "machine.device", [](auto& m) -> auto& { return m.device; },
      "A known device, whose figures are then the defaults of the keys below; or a name of your own, which "
      "needs "
      "them all. Required.");
  keys.add(
      "machine.memory_gb", [](auto& m) -> auto& { return m.memory_gb; }, "Memory of a device.", above(0));
  keys.add(
      "machine.tflops_bf16", [](auto& m) -> auto& { return m.tflops_bf16; },
      "Peak of dense bf16 products of a device, in 10^12 operations a second.", above(0));
  keys.add(
      "machine.memory_gb_s", [](auto& m) -> auto& { return m.memory_gb_s; }, "GB/s of a device's own memory.",
      above(0));
  keys.add(
      "machine.link_gb_s", [](auto& m) -> auto& { return m.link_gb_s; },
      "GB/s from a device to the others of its machine, one way.", above(0));
  keys.add(
      "machine.host_gb_s", [](auto& m) -> auto& { return m.host_gb_s; },
      "GB/s between a device and the machine's memory, one way.", above(0));
  keys.add(
      "machine.context_gb", [](auto& m) -> auto& { return m.context_gb; },
      "Memory of a device that driver, kernels and libraries hold before any tensor. Unset: 1.5.",
      at_least(0));
}

KeyTable<MachineSection> machine_keys() {
  KeyTable<MachineSection> keys;
  add_machine(keys);
  add_device(keys);
  return keys;
}

}  // namespace

config::Schema<ClusterSections> cluster_schema() {
  config::Schema<ClusterSections> schema(network_keys(), "docs/cluster-files.md");
  schema.add_list(
      "machine", machine_keys(), [](auto& c) -> auto& { return c.machines; });
  return schema;
}

std::string cluster_reference() {
  return config::reference_tables(network_keys(), ClusterSections{}, "`[{}]`") +
         config::reference_tables(machine_keys(), MachineSection{}, "`[[{}]]`, one or more");
}

}  // namespace nereus::cluster
