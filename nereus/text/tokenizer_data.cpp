#include "nereus/text/tokenizer_data.h"

#include <algorithm>

#include "nereus/text/byte_alphabet.h"

namespace nereus::text {

std::optional<int32_t> TokenizerData::find(std::string_view text) const {
  const auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

Status TokenizerData::add_vocabulary(int32_t id, std::string text, std::string_view where) {
  const auto at = static_cast<size_t>(id);
  if (at >= tokens.size()) tokens.resize(at + 1);
  Token& token = tokens[at];
  if (token.exists) return fail("{}: id {} belongs to both \"{}\" and \"{}\"", where, id, token.text, text);
  ids.try_emplace(text, id);
  token = {.text = text, .bytes = alphabet_to_bytes(text).value_or(text), .exists = true};
  return {};
}

void TokenizerData::add_added(AddedToken token) {
  const auto at = static_cast<size_t>(token.id);
  if (at >= tokens.size()) tokens.resize(at + 1);
  const auto known = find(token.content);
  if (known && tokens[static_cast<size_t>(*known)].added) {
    std::erase_if(added, [&](const AddedToken& other) { return other.content == token.content; });
  }
  tokens[at] = {
      .text = token.content, .bytes = token.content, .special = token.special, .exists = true, .added = true};
  ids.insert_or_assign(token.content, token.id);
  added.push_back(std::move(token));
}

void TokenizerData::add_eos(int32_t end) {
  if (std::find(eos.begin(), eos.end(), end) == eos.end()) eos.push_back(end);
}

Status TokenizerData::finish(std::string_view source) {
  for (const auto* named : {&before, &after, &eos}) {
    for (const int32_t id : *named) {
      if (static_cast<size_t>(id) >= tokens.size() || !tokens[static_cast<size_t>(id)].exists) {
        return fail("{}: special token {} is not in the vocabulary", source, id);
      }
    }
  }
  std::vector<AddedToken> raw, normalized;
  for (AddedToken token : added) {
    if (!token.normalized) {
      raw.push_back(std::move(token));
    } else {
      token.content = normalizer.apply(token.content);
      normalized.push_back(std::move(token));
    }
  }
  raw_finder = AddedTokenFinder(std::move(raw));
  normalized_finder = AddedTokenFinder(std::move(normalized));
  return {};
}

Result<Bpe> build_bpe(const TokenizerData& data, const BpeFile& file) {
  Bpe::Options options{
      .merges = MergeTable(file.merges.size()), .unknown = file.unknown, .fuse_unknown = file.fuse_unknown};
  for (size_t byte = 0; byte < options.byte_ids.size(); ++byte) {
    options.byte_ids[byte] = data.find(byte_to_char(static_cast<uint8_t>(byte))).value_or(-1);
  }
  std::string joined;
  for (size_t i = 0; i < file.merges.size(); ++i) {
    const auto& [left, right] = file.merges[i];
    joined.assign(left).append(right);
    const auto a = data.find(left), b = data.find(right), both = data.find(joined);
    if (!a || !b || !both) {
      return fail("{}[{}]: \"{} {}\" names \"{}\", which the vocabulary lacks", file.merges_key, i, left,
                  right,
                  !a   ? left
                  : !b ? right
                       : joined);
    }
    options.merges.insert(*a, *b, {static_cast<uint32_t>(i), *both});
  }
  if (file.ignore_merges) {
    for (size_t id = 0; id < data.tokens.size(); ++id) {
      if (data.tokens[id].exists) options.whole.emplace(data.tokens[id].bytes, static_cast<int32_t>(id));
    }
  }
  return Bpe(std::move(options));
}

Result<std::pair<std::string_view, std::string_view>> split_merge(std::string_view merge,
                                                                  std::string_view where) {
  const size_t space = merge.find(' ');
  const bool two = space != std::string_view::npos && space > 0 && space + 1 < merge.size() &&
                   merge.find(' ', space + 1) == std::string_view::npos;
  if (!two) return fail("{}: expected two tokens with a space between, got \"{}\"", where, merge);
  return std::pair(merge.substr(0, space), merge.substr(space + 1));
}

}  // namespace nereus::text
