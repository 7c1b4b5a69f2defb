#pragma once

#include <cstdint>

#include "nereus/base/result.h"
#include "nereus/tasks/dataset.h"

namespace nereus::tasks {

/// Which sample the run takes at which place of its data stream. The stream goes through the data set again
/// and again, each time in another order; the sample at a cursor depends on (size, seed, cursor) only, so the
/// cursor is all that a checkpoint has to hold. Thread-safe.
class DataOrder {
 public:
  /// `shuffle` false: the order of the file, every time. REQUIRES: size > 0
  DataOrder(uint64_t size, uint64_t seed, bool shuffle = true)
      : size_(size), seed_(seed), shuffle_(shuffle) {}

  uint64_t index(uint64_t cursor) const;
  uint64_t epoch(uint64_t cursor) const { return cursor / size_; }

 private:
  uint64_t size_, seed_;
  bool shuffle_;
};

}  // namespace nereus::tasks
