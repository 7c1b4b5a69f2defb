#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nereus::generation {

/// Numbers of free blocks of the KV cache. Holds no memory itself. Not thread-safe.
class BlockPool {
 public:
  explicit BlockPool(int64_t total);

  int64_t total() const { return total_; }
  int64_t free() const { return static_cast<int64_t>(free_.size()); }
  /// All `count` blocks, appended to `blocks`, or none and false.
  bool take(int64_t count, std::vector<int64_t>& blocks);
  /// Gives all of `blocks` back and empties it.
  void give_back(std::vector<int64_t>& blocks);

 private:
  int64_t total_;
  std::vector<int64_t> free_;  ///< the next one to take last
};

}  // namespace nereus::generation
