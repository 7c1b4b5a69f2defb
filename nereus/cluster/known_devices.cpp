#include <array>

#include "nereus/cluster/cluster.h"

namespace nereus::cluster {

namespace {

/// Vendors' figures: memory and bandwidths in decimal GB and GB/s, bandwidths one way. The host's is what a
/// PCIe card of 16 lanes moves in practice: 12.5 (generation 3), 25 (4), 50 (5). Cards without links of their
/// own reach each other by PCIe too. Dense bf16 products with fp32 sums, without sparsity.
struct Figures {
  const char* name;
  double memory, tflops, memory_bandwidth, link, host;
};
constexpr std::array kFigures = {
    // NVIDIA V100 data sheet (January 2020), SXM2: NVLink 300 both ways. It has no bf16: fp16.
    Figures{"V100-16", 16, 125, 900, 150, 12.5},
    Figures{"V100-32", 32, 125, 900, 150, 12.5},
    // NVIDIA A100 data sheet (June 2021), SXM4: NVLink 600 both ways.
    Figures{"A100-40", 40, 312, 1555, 300, 25},
    Figures{"A100-80", 80, 312, 2039, 300, 25},
    // NVIDIA H100 data sheet (2023), SXM5, and H200 data sheet (2024): NVLink 900 both ways.
    Figures{"H100", 80, 989, 3350, 450, 50},
    Figures{"H200", 141, 989, 4800, 450, 50},
    // NVIDIA DGX B200 data sheet (2024), an eighth of it: NVLink 1,800 both ways.
    Figures{"B200", 180, 2250, 8000, 900, 50},
    // NVIDIA L40S and L4 data sheets (2023).
    Figures{"L40S", 48, 362, 864, 25, 25},
    Figures{"L4", 24, 121, 300, 25, 25},
    // NVIDIA Ada GPU architecture (2022), table of the GeForce RTX 4090.
    Figures{"4090", 24, 165, 1008, 25, 25},
    // AMD Instinct MI300X data sheet (2023): seven Infinity Fabric links of 128 both ways.
    Figures{"MI300X", 192, 1307, 5300, 448, 50},
};

constexpr double kGiga = 1e9, kTera = 1e12;

DeviceKind kind_of(const Figures& f) {
  DeviceKind kind;
  kind.name = f.name;
  kind.memory = f.memory * kGiga;
  kind.flops = f.tflops * kTera;
  kind.memory_bandwidth = f.memory_bandwidth * kGiga;
  kind.link_bandwidth = f.link * kGiga;
  kind.host_bandwidth = f.host * kGiga;
  return kind;
}

const std::vector<DeviceKind>& kinds() {
  static const std::vector<DeviceKind> all = [] {
    std::vector<DeviceKind> list;
    for (const auto& figures : kFigures) list.push_back(kind_of(figures));
    return list;
  }();
  return all;
}

}  // namespace

const DeviceKind* known_device(const std::string& name) {
  for (const auto& kind : kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<std::string> known_device_names() {
  std::vector<std::string> names;
  for (const auto& kind : kinds()) names.push_back(kind.name);
  return names;
}

}  // namespace nereus::cluster
