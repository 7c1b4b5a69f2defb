#include "nereus/plan/offers.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace nereus::plan {
namespace {

double largest_room(const cluster::Cluster& cluster, const Job& job, const std::vector<int32_t>& devices) {
  double largest = 0;
  for (const int32_t device : devices) {
    const cluster::DeviceKind& kind = cluster.kind(device);
    largest = std::max(largest, kind.memory * job.utilization - kind.context);
  }
  return largest;
}

/// The options on a grid that another pool has a like of, which differ from those there in their devices
/// alone; nothing where no pool has.
std::optional<std::vector<Option>> known_options(const Pools& known, double largest, ModelStage what,
                                                 const Grid& grid) {
  for (const std::unique_ptr<Offers>& pool : known) {
    for (size_t i = 0; pool->largest == largest && i < pool->families.size(); ++i) {
      const Grid& other = *pool->families[i].grid;
      if (pool->families[i].what != what || other.layout != grid.layout || other.links != grid.links)
        continue;
      std::vector<Option> options = pool->by_family[i];
      for (Option& option : options) option.grid = &grid;
      return options;
    }
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Offers> offers_of(const cluster::Cluster& cluster, const Job& job,
                                  const std::vector<int32_t>& devices, const Pools& known,
                                  OptionMaker& maker) {
  auto offers = std::make_unique<Offers>(Offers{.grids = {cluster, devices},
                                                .largest = largest_room(cluster, job, devices),
                                                .by_family = {},
                                                .families = {},
                                                .options = {}});
  for (const ModelStage what : model_stages(job)) {
    for (const Grid* grid : offers->grids.all(job.find(what.role)->config, most_replicas(job, what))) {
      auto options = known_options(known, offers->largest, what, *grid);
      offers->by_family.push_back(options ? std::move(*options)
                                          : maker.options_on(what, *grid, offers->largest));
      offers->families.push_back({what, grid, nullptr});
    }
  }
  for (const ModelStage what : model_stages(job)) {
    std::vector<const Option*>& options = offers->options.emplace_back();
    for (size_t family = 0; family < offers->families.size(); ++family) {
      offers->families[family].options = &offers->by_family[family];
      if (offers->families[family].what != what) continue;
      for (const Option& option : offers->by_family[family]) options.push_back(&option);
    }
    std::stable_sort(options.begin(), options.end(),
                     [](const Option* a, const Option* b) { return a->seconds < b->seconds; });
  }
  return offers;
}

std::vector<const Option*> few_of(const std::vector<const Option*>& options, size_t count) {
  if (count >= options.size()) return options;
  std::vector<size_t> chosen, order(options.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto least = order.begin() + static_cast<std::ptrdiff_t>(count);
  chosen.assign(order.begin(), least);
  for (double Option::*key : {&Option::most_idle, &Option::most_running}) {
    std::partial_sort(order.begin(), least, order.end(), [&](size_t a, size_t b) {
      return std::pair(options[a]->*key, a) < std::pair(options[b]->*key, b);
    });
    chosen.insert(chosen.end(), order.begin(), least);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  std::vector<const Option*> result;
  result.reserve(chosen.size());
  for (const size_t i : chosen) result.push_back(options[i]);
  return result;
}

}  // namespace nereus::plan
