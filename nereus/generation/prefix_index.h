#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace nereus::generation {

/// Which block holds the keys and values of which prefix: a tree of blocks, where an entry is found by its
/// parent and its own tokens. Tokens are compared, so equal hashes never mix prefixes up. Not thread-safe.
class PrefixIndex {
 public:
  explicit PrefixIndex(int64_t block_tokens) : block_tokens_(block_tokens) {}

  /// Blocks of the longest known prefix that is made of whole blocks, under this policy (see Policy::serial).
  std::vector<int64_t> find(uint64_t policy, std::span<const int32_t> tokens) const;
  /// `blocks` hold these tokens, the last perhaps only partly: the full ones are found from now on, but for
  /// those whose contents another block is known to hold.
  void add(uint64_t policy, std::span<const int32_t> tokens, const std::vector<int64_t>& blocks);
  bool holds(int64_t block) const { return by_block_.contains(block); }
  /// The block's contents are no longer true. What followed them is not found any more either.
  void remove(int64_t block);
  /// Likewise for everything of a policy.
  void remove_policy(uint64_t policy);
  int64_t block_tokens() const { return block_tokens_; }

 private:
  struct Key {
    uint64_t policy = 0, parent = 0;  // parent 0: the prefix begins here
    std::vector<int32_t> tokens;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    int64_t block = 0;
    uint64_t id = 0;  // never given twice
  };
  Key key_of(uint64_t policy, uint64_t parent, std::span<const int32_t> tokens, size_t place) const;

  int64_t block_tokens_;
  uint64_t last_id_ = 0;
  std::unordered_map<Key, Entry, KeyHash> entries_;
  std::unordered_map<int64_t, const Key*> by_block_;
};

}  // namespace nereus::generation
