#include "nereus/text/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "nereus/text/utf8.h"

namespace nereus::text {

namespace {

/// `\w` of Unicode's regular expressions (UTS 18, annex C).
bool is_word(char32_t code) {
  const auto c = static_cast<UChar32>(code);
  constexpr uint32_t kMask = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || (U_GET_GC_MASK(c) & kMask) != 0 ||
         u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL);
}

bool is_space(char32_t code) {
  return u_isUWhiteSpace(static_cast<UChar32>(code));
}

/// Begin of the character that ends at `end`. REQUIRES: end > 0.
size_t char_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

bool word_touches(std::string_view text, Span span) {
  const bool before = span.begin > 0 && is_word(first_char(text.substr(char_before(text, span.begin))).code);
  return before || (span.end < text.size() && is_word(first_char(text.substr(span.end)).code));
}

size_t strip_left(std::string_view text, size_t begin, size_t limit) {
  while (begin > limit) {
    const size_t before = char_before(text, begin);
    if (before < limit || !is_space(first_char(text.substr(before)).code)) break;
    begin = before;
  }
  return begin;
}

size_t strip_right(std::string_view text, size_t end) {
  while (end < text.size()) {
    const Utf8Char next = first_char(text.substr(end));
    if (!is_space(next.code)) break;
    end += next.length;
  }
  return end;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].content.empty()) insert(i);
  }
}

void AddedTokenFinder::insert(uint32_t token) {
  const std::string& content = tokens_[token].content;
  starts_[static_cast<unsigned char>(content[0])] = true;
  uint32_t node = 0;
  for (const char byte : content) {
    auto next = child(node, byte);
    if (!next) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_[node].edges.emplace_back(byte, *next);
      nodes_.emplace_back();
    }
    node = *next;
  }
  nodes_[node].token = token;
}

std::optional<uint32_t> AddedTokenFinder::child(uint32_t node, char byte) const {
  for (const auto& [edge, to] : nodes_[node].edges) {
    if (edge == byte) return to;
  }
  return std::nullopt;
}

std::optional<uint32_t> AddedTokenFinder::longest_at(std::string_view text, size_t begin) const {
  std::optional<uint32_t> longest, node = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    node = child(*node, text[i]);
    if (!node) break;
    if (nodes_[*node].token) longest = nodes_[*node].token;
  }
  return longest;
}

std::vector<AddedTokenFinder::Segment> AddedTokenFinder::split(std::string_view text) const {
  std::vector<Segment> out;
  size_t done = 0;  // end of the last segment
  const auto add_text = [&](size_t end) {
    if (end > done) out.push_back({{done, end}, std::nullopt});
  };
  for (size_t at = 0; at < text.size();) {
    const auto found = starts_[static_cast<unsigned char>(text[at])] ? longest_at(text, at) : std::nullopt;
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[*found];
    Span span{at, at + token.content.size()};
    at = span.end;
    if (token.single_word && word_touches(text, span)) continue;
    if (token.lstrip) span.begin = strip_left(text, span.begin, done);
    if (token.rstrip) span.end = strip_right(text, span.end);
    span.begin = std::max(span.begin, done);
    span.end = std::max(span.end, done);
    add_text(span.begin);
    out.push_back({span, token.id});
    done = span.end;
  }
  add_text(text.size());
  return out;
}

}  // namespace nereus::text
