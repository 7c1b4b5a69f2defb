#include "nereus/runtime/machine_profile.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

#include "nereus/cluster/cluster_file.h"
#include "nereus/kernels/gemm.h"
#include "nereus/kernels/parallel.h"

namespace nereus::runtime {

namespace {

/// A product of the size of a model's layer: the weights are read from memory once and used by many rows.
constexpr int64_t kRows = 1024, kIn = 2048, kOut = 2048;
/// Of a buffer: far more than caches hold.
constexpr int64_t kWords = int64_t{1} << 25;  // 256 MiB

/// The best rate of `work` units a call within `seconds`: what disturbs it only makes it slower. One call
/// goes before, so that pages are there.
double best_rate(double work, double seconds, const Clock& clock, const std::function<void()>& call) {
  call();
  double best = 0;
  for (const double begin = clock.now(); clock.now() - begin < seconds;) {
    const double start = clock.now();
    call();
    best = std::max(best, work / std::max(clock.now() - start, 1e-9));
  }
  return best;
}

double product_rate(kernels::Element element, double seconds, const Clock& clock) {
  std::vector<float> weights(kOut * kIn, 0.5F), x(kRows * kIn, 0.25F), y(kRows * kOut);
  const kernels::PackedWeights packed({weights.data(), kOut, kIn, kIn, 1}, element);
  const double work = 2.0 * kRows * kIn * kOut;
  return best_rate(work, seconds, clock, [&] {
    packed.multiply({x.data(), kRows, kIn, kIn, 1}, {y.data(), kRows, kOut, kOut, 1});
  });
}

double read_rate(double seconds, const Clock& clock) {
  const std::vector<uint64_t> words(kWords, 1);
  std::atomic<uint64_t> total = 0;
  const double rate = best_rate(static_cast<double>(kWords) * sizeof(uint64_t), seconds, clock, [&] {
    kernels::parallel_ranges(kWords, 1, [&](int64_t first, int64_t last) {
      total += std::accumulate(words.begin() + first, words.begin() + last, uint64_t{0});
    });
  });
  return total == 0 ? 0 : rate;  // the sum is used, so that it is computed
}

double copy_rate(double seconds, const Clock& clock) {
  const std::vector<uint64_t> from(kWords, 1);
  std::vector<uint64_t> to(kWords);
  const double bytes = static_cast<double>(kWords) * sizeof(uint64_t);
  return best_rate(bytes, seconds, clock, [&] {
    kernels::parallel_ranges(kWords, 1, [&](int64_t first, int64_t last) {
      std::memcpy(to.data() + first, from.data() + first,
                  static_cast<size_t>(last - first) * sizeof(uint64_t));
    });
  });
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "processor";
}

/// The machine's memory, or less where a control group says so.
double usable_memory() {
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::ifstream in("/sys/fs/cgroup/memory.max");
  double limit = 0;
  return in >> limit && limit > 0 ? std::min(all, limit) : all;
}

double resident_memory() {
  std::ifstream in("/proc/self/statm");
  double all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "machine";
  return name.data();
}

}  // namespace

Result<MachineProfile> profile_machine(const ProfileOptions& options, const Clock& clock,
                                       const std::function<void(int64_t, int64_t)>& progress) {
  MachineProfile profile;
  profile.name = options.name.empty() ? host_name() : options.name;
  profile.processor = processor_name();
  profile.devices = options.devices;
  profile.threads = kernels::max_threads();
  profile.memory = usable_memory();
  profile.context = resident_memory();
  const int64_t total = options.network.empty() ? 4 : 5;
  int64_t done = 0;
  if (!options.network.empty()) {
    progress(done++, total);
    auto speed = probe_network(options.network, options.seconds, clock);
    if (!speed) return pass(speed);
    profile.network = *speed;
  }
  progress(done++, total);
  profile.f32_flops = product_rate(kernels::Element::f32, options.seconds, clock);
  progress(done++, total);
  if (kernels::has_fast_bf16())
    profile.bf16_flops = product_rate(kernels::Element::bf16, options.seconds, clock);
  progress(done++, total);
  profile.memory_bandwidth = read_rate(options.seconds, clock);
  progress(done++, total);
  profile.copy_bandwidth = copy_rate(options.seconds, clock);
  progress(total, total);
  return profile;
}

std::string cluster_file(const MachineProfile& profile) {
  const auto devices = static_cast<double>(profile.devices);
  // A quarter of the memory is the host's, for what leaves the devices.
  constexpr double kDevicesShare = 0.75;
  cluster::Machine machine;
  machine.name = profile.name;
  machine.devices = profile.devices;
  machine.kind.name = profile.processor;
  machine.kind.memory = kDevicesShare * profile.memory / devices;
  machine.kind.flops = std::max(profile.bf16_flops, profile.f32_flops) / devices;
  machine.kind.memory_bandwidth = profile.memory_bandwidth / devices;
  machine.kind.link_bandwidth = profile.copy_bandwidth / devices;
  machine.kind.host_bandwidth = profile.copy_bandwidth / devices;
  machine.kind.context = std::min(profile.context, machine.kind.memory / 2);
  machine.host_memory = (1 - kDevicesShare) * profile.memory;
  cluster::Cluster cluster;
  machine.network_bandwidth = profile.network ? profile.network->bandwidth : machine.kind.host_bandwidth;
  if (profile.network) cluster.network_latency = profile.network->latency;
  cluster.machines.push_back(machine);
  std::string out = fmt::format(
      "# Measured by nereus profile: {} with {} threads, as {} device{}.\n"
      "# Dense products: {:.1f} GFLOP/s in fp32, {}. Memory: {:.1f} GB/s read, {:.1f} GB/s copied.\n",
      profile.processor, profile.threads, profile.devices, profile.devices == 1 ? "" : "s",
      profile.f32_flops / 1e9,
      profile.bf16_flops > 0 ? fmt::format("{:.1f} in bf16", profile.bf16_flops / 1e9)
                             : "no bf16 in hardware",
      profile.memory_bandwidth / 1e9, profile.copy_bandwidth / 1e9);
  out += profile.network ? "# The network's figures are those of one TCP stream.\n\n"
                         : "# The network was not measured: nereus profile --to HOST:PORT. Its figures are "
                           "those of copies.\n\n";
  return out + cluster::cluster_text(cluster);
}

}  // namespace nereus::runtime
