#include "nereus/generation/block_pool.h"

namespace nereus::generation {

BlockPool::BlockPool(int64_t total) : total_(total) {
  for (int64_t block = total; block > 0; --block) free_.push_back(block - 1);
}

bool BlockPool::take(int64_t count, std::vector<int64_t>& blocks) {
  if (count > free()) return false;
  for (int64_t i = 0; i < count; ++i) {
    blocks.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

void BlockPool::give_back(std::vector<int64_t>& blocks) {
  // Last taken, first back: a sequence that starts again gets its blocks in ascending order once more.
  free_.insert(free_.end(), blocks.rbegin(), blocks.rend());
  blocks.clear();
}

}  // namespace nereus::generation
