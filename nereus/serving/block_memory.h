#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace nereus::serving {

/// For each block of a prompt: which servers had it, and up to two of the blocks that followed it. Holds a
/// bounded number and forgets the one not used for longest. Not thread-safe.
class BlockMemory {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  BlockMemory(size_t servers, size_t max_blocks);

  /// The entry of a block, or kNone. Entries stay valid until the next `add`.
  uint32_t find(uint64_t block) const;
  /// Finds or makes the entry and counts it as just used. An entry that is older than this one may be
  /// forgotten for it.
  uint32_t add(uint64_t block);

  bool had(uint32_t entry, size_t server) const;
  void set_had(uint32_t entry, size_t server);
  /// How many servers had it.
  uint32_t holders(uint32_t entry) const { return entries_[entry].holders; }
  void set_successor(uint32_t entry, uint64_t block);
  bool has_several_successors(uint32_t entry) const { return entries_[entry].successors > 1; }

  void forget_server(size_t server);
  size_t size() const { return index_.size(); }

 private:
  struct Entry {
    uint64_t block = 0;
    uint64_t first_successor = 0;
    uint32_t older = kNone, newer = kNone;  // in the order of use
    uint32_t holders = 0;
    uint8_t successors = 0;  // 0, 1, or 2 for more
  };

  uint32_t take_entry();
  void unlink(uint32_t entry);
  void link_newest(uint32_t entry);

  size_t words_, max_blocks_;
  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> servers_;  // words_ a entry, one bit a server
  uint32_t oldest_ = kNone, newest_ = kNone;
};

}  // namespace nereus::serving
