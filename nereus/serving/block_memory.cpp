#include "nereus/serving/block_memory.h"

#include <algorithm>

namespace nereus::serving {

BlockMemory::BlockMemory(size_t servers, size_t max_blocks)
    : words_((servers + 63) / 64), max_blocks_(std::max<size_t>(max_blocks, 1)) {}

uint32_t BlockMemory::find(uint64_t block) const {
  const auto found = index_.find(block);
  return found == index_.end() ? kNone : found->second;
}

void BlockMemory::unlink(uint32_t entry) {
  const Entry& e = entries_[entry];
  (e.older == kNone ? oldest_ : entries_[e.older].newer) = e.newer;
  (e.newer == kNone ? newest_ : entries_[e.newer].older) = e.older;
}

void BlockMemory::link_newest(uint32_t entry) {
  entries_[entry].older = newest_;
  entries_[entry].newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = entry;
  newest_ = entry;
}

uint32_t BlockMemory::take_entry() {
  if (entries_.size() < max_blocks_) {
    entries_.emplace_back();
    servers_.resize(entries_.size() * words_, 0);
    return static_cast<uint32_t>(entries_.size() - 1);
  }
  const uint32_t entry = oldest_;
  unlink(entry);
  index_.erase(entries_[entry].block);
  entries_[entry] = {};
  std::fill_n(servers_.begin() + static_cast<ptrdiff_t>(entry * words_), words_, 0);
  return entry;
}

uint32_t BlockMemory::add(uint64_t block) {
  uint32_t entry = find(block);
  if (entry == kNone) {
    entry = take_entry();
    entries_[entry].block = block;
    index_.emplace(block, entry);
  } else {
    unlink(entry);
  }
  link_newest(entry);
  return entry;
}

bool BlockMemory::had(uint32_t entry, size_t server) const {
  return (servers_[entry * words_ + server / 64] >> (server % 64) & 1) != 0;
}

void BlockMemory::set_had(uint32_t entry, size_t server) {
  if (had(entry, server)) return;
  servers_[entry * words_ + server / 64] |= uint64_t{1} << (server % 64);
  ++entries_[entry].holders;
}

void BlockMemory::set_successor(uint32_t entry, uint64_t block) {
  Entry& e = entries_[entry];
  if (e.successors == 0) {
    e.successors = 1;
    e.first_successor = block;
  } else if (e.first_successor != block) {
    e.successors = 2;
  }
}

void BlockMemory::forget_server(size_t server) {
  const uint64_t bit = uint64_t{1} << (server % 64);
  for (uint32_t entry = 0; entry < entries_.size(); ++entry) {
    uint64_t& word = servers_[entry * words_ + server / 64];
    if ((word & bit) == 0) continue;
    word &= ~bit;
    --entries_[entry].holders;
  }
}

}  // namespace nereus::serving
