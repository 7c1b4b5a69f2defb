#pragma once

#include "tests/elastic/world.h"

namespace nereus::elastic::test {

/// Bytes that the places of a plan need of another's moved state beyond what they hold, counted element by
/// element: over all places, and over machines (what has to enter each once).
struct Needed {
  int64_t moved = 0, network = 0;
};
Needed needed_bytes(const cluster::Cluster& cluster, const plan::Job& job, const plan::Plan& from,
                    const plan::Plan& to);

}  // namespace nereus::elastic::test
