#include "nereus/text/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace nereus::text {

namespace {

constexpr uint64_t kFree = std::numeric_limits<uint64_t>::max();

uint64_t pair_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

/// For a heap whose front is the merge to make next: lowest rank, then leftmost.
bool later(const Bpe::Scratch::Candidate& a, const Bpe::Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 1), Slot{kFree, {}}) {}

size_t MergeTable::slot(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = pair * 0x9E3779B97F4A7C15u;
  size_t at = (hash ^ hash >> 32) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != kFree) at = (at + 1) & mask;
  return at;
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t pair = pair_of(left, right);
  slots_[slot(pair)] = {pair, merge};
}

const MergeTable::Merge* MergeTable::find(int32_t left, int32_t right) const {
  const Slot& found = slots_[slot(pair_of(left, right))];
  return found.pair == kFree ? nullptr : &found.merge;
}

void Bpe::begin(std::string_view piece, Scratch& scratch) const {
  scratch.symbols.clear();
  scratch.queue.clear();
  bool after_unknown = false;
  for (const char c : piece) {
    int32_t id = options_.byte_ids[static_cast<unsigned char>(c)];
    const bool unknown = id < 0;
    if (unknown) {
      if (!options_.unknown || (options_.fuse_unknown && after_unknown)) continue;
      id = *options_.unknown;
    }
    after_unknown = unknown;
    const auto at = static_cast<int32_t>(scratch.symbols.size());
    scratch.symbols.push_back({id, at - 1, at + 1});
  }
  if (!scratch.symbols.empty()) scratch.symbols.back().next = -1;
}

void Bpe::consider(int32_t left, Scratch& scratch) const {
  const auto& symbols = scratch.symbols;
  const int32_t right = symbols[static_cast<size_t>(left)].next;
  if (right < 0) return;
  const auto* merge =
      options_.merges.find(symbols[static_cast<size_t>(left)].id, symbols[static_cast<size_t>(right)].id);
  if (!merge) return;
  scratch.queue.push_back({merge->rank, left, merge->id});
  std::push_heap(scratch.queue.begin(), scratch.queue.end(), later);
}

void Bpe::merge_all(Scratch& scratch) const {
  const auto symbol = [&](int32_t i) -> Scratch::Symbol& { return scratch.symbols[static_cast<size_t>(i)]; };
  while (!scratch.queue.empty()) {
    std::pop_heap(scratch.queue.begin(), scratch.queue.end(), later);
    const Scratch::Candidate best = scratch.queue.back();
    scratch.queue.pop_back();
    auto& left = symbol(best.left);
    if (left.id < 0 || left.next < 0) continue;
    // The pair may have changed since. What counts is that it still joins to the same token, as in HF's
    // tokenizers: two merges may lead to one token.
    auto& right = symbol(left.next);
    const auto* merge = options_.merges.find(left.id, right.id);
    if (!merge || merge->id != best.id) continue;
    left.id = best.id;
    right.id = -1;
    left.next = right.next;
    if (right.next >= 0) symbol(right.next).previous = best.left;
    if (left.previous >= 0) consider(left.previous, scratch);
    consider(best.left, scratch);
  }
}

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& out) const {
  if (!options_.whole.empty()) {
    if (const auto found = options_.whole.find(piece); found != options_.whole.end()) {
      out.push_back(found->second);
      return;
    }
  }
  begin(piece, scratch);
  for (size_t i = 0; i + 1 < scratch.symbols.size(); ++i) consider(static_cast<int32_t>(i), scratch);
  merge_all(scratch);
  for (const auto& symbol : scratch.symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

}  // namespace nereus::text
