#pragma once

#include <string>

#include "nereus/plan/memory.h"

namespace nereus::plan {

/// What would make the plan fit where `worst` does not, as an imperative: "recompute activations or take tp =
/// 2". Every remedy named was tried and fits everywhere; where no single one does, it says so.
std::string remedy(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                   const DevicePeak& worst);

/// The moment with the least free bytes; REQUIRES: not empty.
DevicePeak tightest(const std::vector<DevicePeak>& moments);

}  // namespace nereus::plan
