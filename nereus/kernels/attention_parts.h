#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "nereus/kernels/attention_kernels.h"

namespace nereus::kernels {

/// Rows [first, first + rows) of a run, counted from its start, and the number of keys that the first of them
/// sees. With one key and value head it is one tile.
struct RunPart {
  const QueryRun* run;
  int64_t first, rows, visible;
};

/// The parts of all runs, in order.
std::vector<RunPart> parts_of(const AttentionShape& shape, const AttentionPlan& plan);

/// Multiply-adds of a part's forward products, for one key and value head.
int64_t work_of(const AttentionShape& shape, const RunPart& part);

/// The tile of a part and head, with all but its keys and values filled in; `out` and `logsumexp` (or null)
/// are those of the whole batch.
QueryTile tile_of(const AttentionShape& shape, const AttentionPlan& plan, const RunPart& part,
                  int64_t kv_head, ConstMatrix q, Matrix out, float* logsumexp);

/// Working memory of the threads of one call, each thread's made when it first asks.
class ThreadScratch {
 public:
  ThreadScratch(int64_t floats, int threads) : floats_(floats), memory_(static_cast<size_t>(threads)) {}
  float* of(int thread) {
    auto& memory = memory_[static_cast<size_t>(thread)];
    if (!memory) {
      const auto bytes = (static_cast<size_t>(floats_) * sizeof(float) + 63) / 64 * 64;
      memory.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    }
    return memory.get();
  }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  int64_t floats_;
  std::vector<std::unique_ptr<float, Free>> memory_;
};

/// Working memory for the largest of the parts.
ThreadScratch scratch_for(const AttentionKernels& kernels, const AttentionShape& shape,
                          const std::vector<RunPart>& parts);

}  // namespace nereus::kernels
