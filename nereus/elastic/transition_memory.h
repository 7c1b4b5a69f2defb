#pragma once

#include <cstdint>

#include "nereus/elastic/transition.h"

namespace nereus::elastic {

/// Bytes that places hold of the transition's old plan and that may be used. `lost`: set of places.
Memory memory_of(const cluster::Cluster& cluster, const TransitionOptions& options,
                 const Transition& transition, int32_t lost);

/// Whether each place has room for what it holds before and for what it holds after. The error names the
/// place and what is short.
Status check_memory(const cluster::Cluster& cluster, const TransitionOptions& options,
                    const Transition& transition);

/// Whether everything new fits beside everything old, so that nothing is staged.
bool room_for_all(const Transition& transition);

/// Where not everything new fits beside everything old, bundles are cut to what is free, so that less has to
/// be staged: their bytes, agreed over all places. 0: those of the options.
int64_t finer_bundles(const TransitionOptions& options, const Transition& transition);

}  // namespace nereus::elastic
