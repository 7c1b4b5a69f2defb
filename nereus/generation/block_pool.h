#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "nereus/generation/prefix_index.h"

namespace nereus::generation {

/// Numbers of the KV cache's blocks: who uses them, and which prefixes they hold. A block that nobody uses
/// keeps its contents until it is needed, the one used last for longest. Holds no memory itself. Not
/// thread-safe.
class BlockPool {
 public:
  explicit BlockPool(int64_t total, int64_t block_tokens = 16);

  int64_t total() const { return total_; }
  /// Blocks that nobody uses, those with contents among them.
  int64_t free() const { return static_cast<int64_t>(empty_.size() + idle_.size()); }
  /// Blocks that nobody uses, but whose contents can be found.
  int64_t kept() const { return static_cast<int64_t>(idle_.size()); }
  /// All `count` blocks, appended to `blocks`, or none and false. Their contents are forgotten.
  bool take(int64_t count, std::vector<int64_t>& blocks);
  /// Gives all of `blocks` back, each once, and empties it.
  void give_back(std::vector<int64_t>& blocks);

  /// Takes the blocks of the longest known prefix, shared with whoever uses them already.
  std::vector<int64_t> take_prefix(uint64_t policy, std::span<const int32_t> tokens);
  /// `blocks`, which are in use, hold these tokens: the full ones can be found from now on.
  void keep(uint64_t policy, std::span<const int32_t> tokens, const std::vector<int64_t>& blocks);
  /// Nothing of the policy is found any more; blocks in use stay so.
  void forget(uint64_t policy);
  /// Nothing at all is found any more.
  void forget_all();

 private:
  int64_t take_one();
  void clear_idle();

  int64_t total_;
  PrefixIndex index_;
  std::vector<int64_t> empty_;                    ///< the next one to take last
  std::list<int64_t> idle_;                       ///< the next one to take first
  std::vector<std::list<int64_t>::iterator> at_;  ///< place in idle_ of blocks that are there
  std::vector<int32_t> users_;
};

}  // namespace nereus::generation
