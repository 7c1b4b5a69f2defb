#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nereus::text {

/// Hash for maps from std::string that are asked with std::string_view.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TokenIds = std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>>;

/// Which two tokens join to which third, and how early: one flat table, as every byte of a text asks it.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;  ///< the lowest goes first
    int32_t id;     ///< of the joined token
  };
  MergeTable() : MergeTable(0) {}
  explicit MergeTable(size_t merges);
  /// A pair that is there already is replaced. REQUIRES: ids ≥ 0, no more pairs than announced.
  void insert(int32_t left, int32_t right, Merge merge);
  const Merge* find(int32_t left, int32_t right) const;  ///< nullptr where the two do not join

 private:
  struct Slot {
    uint64_t pair;
    Merge merge;
  };
  size_t slot(uint64_t pair) const;  ///< where `pair` is or would go
  std::vector<Slot> slots_;          ///< a power of two, at most half full
};

/// Byte-pair encoding (Sennrich et al., "Neural machine translation of rare words with subword units", 2016)
/// of one piece, beginning from bytes. O(n log n) in the piece. Immutable, so thread-safe.
class Bpe {
 public:
  struct Options {
    std::array<int32_t, 256> byte_ids{};  ///< -1 where the vocabulary lacks the byte
    MergeTable merges{};
    TokenIds whole{};  ///< pieces that are one token whatever the merges say (`ignore_merges`)
    std::optional<int32_t> unknown{};  ///< for bytes without a token; without it they are left out
    bool fuse_unknown = false;         ///< one for a run of such bytes
  };
  explicit Bpe(Options options) : options_(std::move(options)) {}

  /// Working memory, kept from piece to piece. One thread's.
  struct Scratch {
    struct Symbol {
      int32_t id, previous, next;  ///< neighbours by index, -1 where none; id -1 once merged away
    };
    struct Candidate {
      uint32_t rank;
      int32_t left, id;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> queue;
  };
  /// Appends the ids of `piece` (any bytes).
  void encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& out) const;

 private:
  void begin(std::string_view piece, Scratch& scratch) const;
  void consider(int32_t left, Scratch& scratch) const;
  void merge_all(Scratch& scratch) const;
  Options options_;
};

}  // namespace nereus::text
