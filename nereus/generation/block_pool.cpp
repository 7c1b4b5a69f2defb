#include "nereus/generation/block_pool.h"

#include <algorithm>

namespace nereus::generation {

BlockPool::BlockPool(int64_t total, int64_t block_tokens)
    : total_(total),
      index_(block_tokens),
      at_(static_cast<size_t>(total)),
      users_(static_cast<size_t>(total), 0) {
  for (int64_t block = total; block > 0; --block) empty_.push_back(block - 1);
}

/// An empty block, else the one whose contents were not used for longest. REQUIRES: free() > 0.
int64_t BlockPool::take_one() {
  int64_t block = 0;
  if (!empty_.empty()) {
    block = empty_.back();
    empty_.pop_back();
  } else {
    block = idle_.front();
    idle_.pop_front();
    index_.remove(block);
  }
  users_[static_cast<size_t>(block)] = 1;
  return block;
}

bool BlockPool::take(int64_t count, std::vector<int64_t>& blocks) {
  if (count > free()) return false;
  const auto before = static_cast<std::ptrdiff_t>(blocks.size());
  for (int64_t i = 0; i < count; ++i) blocks.push_back(take_one());
  // Neighbours are read in one go.
  std::sort(blocks.begin() + before, blocks.end());
  return true;
}

void BlockPool::give_back(std::vector<int64_t>& blocks) {
  // Last taken, first back: a sequence that starts again gets its blocks in ascending order once more, and
  // the end of a prefix, which is of no use without its beginning, is given up first.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const auto place = static_cast<size_t>(*block);
    if (--users_[place] > 0) continue;
    if (index_.holds(*block))
      at_[place] = idle_.insert(idle_.end(), *block);
    else
      empty_.push_back(*block);
  }
  blocks.clear();
}

std::vector<int64_t> BlockPool::take_prefix(uint64_t policy, std::span<const int32_t> tokens) {
  std::vector<int64_t> blocks = index_.find(policy, tokens);
  for (const int64_t block : blocks) {
    const auto place = static_cast<size_t>(block);
    if (users_[place]++ == 0) idle_.erase(at_[place]);
  }
  return blocks;
}

void BlockPool::keep(uint64_t policy, std::span<const int32_t> tokens, const std::vector<int64_t>& blocks) {
  index_.add(policy, tokens, blocks);
}

void BlockPool::forget(uint64_t policy) {
  index_.remove_policy(policy);
  clear_idle();
}

void BlockPool::forget_all() {
  index_ = PrefixIndex(index_.block_tokens());
  clear_idle();
}

/// Idle blocks whose contents cannot be found any more are empty.
void BlockPool::clear_idle() {
  for (auto block = idle_.begin(); block != idle_.end();) {
    if (index_.holds(*block)) {
      ++block;
      continue;
    }
    empty_.push_back(*block);
    block = idle_.erase(block);
  }
}

}  // namespace nereus::generation
