#include "nereus/generation/prefix_index.h"

namespace nereus::generation {

size_t PrefixIndex::KeyHash::operator()(const Key& key) const {
  uint64_t hash = key.policy * 0x9e3779b97f4a7c15ULL + key.parent;
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 32;
  };
  mix(key.parent);
  for (const int32_t token : key.tokens) mix(static_cast<uint32_t>(token));
  return hash;
}

/// Key of block number `place` of the tokens.
PrefixIndex::Key PrefixIndex::key_of(uint64_t policy, uint64_t parent, std::span<const int32_t> tokens,
                                     size_t place) const {
  const auto size = static_cast<size_t>(block_tokens_);
  const auto part = tokens.subspan(place * size, size);
  return {policy, parent, {part.begin(), part.end()}};
}

std::vector<int64_t> PrefixIndex::find(uint64_t policy, std::span<const int32_t> tokens) const {
  std::vector<int64_t> blocks;
  uint64_t parent = 0;
  for (size_t i = 0; i < tokens.size() / static_cast<size_t>(block_tokens_); ++i) {
    const auto found = entries_.find(key_of(policy, parent, tokens, i));
    if (found == entries_.end()) break;
    blocks.push_back(found->second.block);
    parent = found->second.id;
  }
  return blocks;
}

void PrefixIndex::add(uint64_t policy, std::span<const int32_t> tokens, const std::vector<int64_t>& blocks) {
  uint64_t parent = 0;
  for (size_t i = 0; i < tokens.size() / static_cast<size_t>(block_tokens_); ++i) {
    const auto [entry, added] =
        entries_.try_emplace(key_of(policy, parent, tokens, i), Entry{blocks[i], last_id_ + 1});
    if (added) {
      ++last_id_;
      by_block_[blocks[i]] = &entry->first;
    }
    parent = entry->second.id;
  }
}

void PrefixIndex::remove(int64_t block) {
  const auto found = by_block_.find(block);
  if (found == by_block_.end()) return;
  entries_.erase(entries_.find(*found->second));
  by_block_.erase(found);
}

void PrefixIndex::remove_policy(uint64_t policy) {
  std::vector<int64_t> blocks;
  for (const auto& [block, key] : by_block_)
    if (key->policy == policy) blocks.push_back(block);
  for (const int64_t block : blocks) remove(block);
}

}  // namespace nereus::generation
