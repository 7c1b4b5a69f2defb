#pragma once

#include <cstdint>
#include <optional>

#include "nereus/plan/time.h"

namespace nereus::plan {

/// `plan`, made for `from` devices, on the first `to` devices: pools grow and shrink in proportion, by whole
/// replicas. Nothing where a pool would have no replica. Memory is not looked at.
std::optional<Plan> scale_data(const Plan& plan, int32_t from, int32_t to);

/// The fastest of the plan's variants (micro-batch, recomputation, ZeRO, leaving when idle) that fits.
/// Nothing where none fits.
std::optional<Plan> best_variant(const cluster::Cluster& cluster, const Job& job,
                                 const Calibration& calibration, const Plan& plan);

}  // namespace nereus::plan
