#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/text/regex.h"

namespace nereus::text {

/// A token that is found in the text before anything else is done to it.
struct AddedToken {
  int32_t id = 0;
  std::string content{};
  bool special = false;      ///< left out by decoding with `skip_special`
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes in the white space before it
  bool rstrip = false;       ///< takes in the white space after it
  bool normalized = false;   ///< searched in the normalised text
};

/// Finds added tokens: leftmost first, of several at one place the longest. Immutable and thread-safe.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens = {});

  struct Segment {
    Span span;
    std::optional<int32_t> id;  ///< of the added token; without it the segment is text
  };
  /// Segments that cover `text`, none empty. REQUIRES: `text` is valid UTF-8.
  std::vector<Segment> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<char, uint32_t>> edges;
    std::optional<uint32_t> token;  ///< index in tokens_
  };
  void insert(uint32_t token);
  std::optional<uint32_t> child(uint32_t node, char byte) const;
  std::optional<uint32_t> longest_at(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};  ///< a trie over bytes, its root first
  std::array<bool, 256> starts_{};
};

}  // namespace nereus::text
