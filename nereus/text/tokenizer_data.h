#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/formats/gguf.h"
#include "nereus/text/added_tokens.h"
#include "nereus/text/bpe.h"
#include "nereus/text/normalizer.h"
#include "nereus/text/pre_tokenizer.h"

namespace nereus::text {

/// What a Tokenizer holds, whichever file it comes from.
struct TokenizerData {
  struct Token {
    std::string text;   ///< as the file writes it
    std::string bytes;  ///< what it stands for
    bool special = false;
    bool exists = false;  ///< false in a gap of the ids
    bool added = false;   ///< one of `added`
  };
  std::vector<Token> tokens;  ///< by id
  TokenIds ids;               ///< by text

  Normalizer normalizer;
  std::vector<AddedToken> added;
  AddedTokenFinder raw_finder, normalized_finder;  ///< of `added`: see `finish`
  PreTokenizer pre_tokenizer;
  Bpe bpe{Bpe::Options()};

  std::vector<int32_t> before, after;  ///< ids that `add_special` puts around a text
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  std::string bos_text, eos_text, pad_text, unk_text, chat_template;

  std::optional<int32_t> find(std::string_view text) const;
  /// A token of the model's vocabulary. An id given twice is an error.
  Status add_vocabulary(int32_t id, std::string text, std::string_view where);
  /// An added token; replaces what its id meant before, and an added token of the same content.
  void add_added(AddedToken token);
  /// Makes `end` an end of sequence, unless it is one.
  void add_eos(int32_t end);
  /// Checks the ids that others refer to, and builds the finders; all else is complete. `source` for errors.
  Status finish(std::string_view source);
};

/// What BPE takes from a file beside its vocabulary.
struct BpeFile {
  std::vector<std::pair<std::string_view, std::string_view>> merges{};  ///< the earliest first
  bool ignore_merges = false;
  std::optional<int32_t> unknown{};
  bool fuse_unknown = false;
  std::string merges_key{};  ///< file and key of the merges, for errors
};
/// REQUIRES: `data` has its vocabulary and no added tokens yet.
Result<Bpe> build_bpe(const TokenizerData& data, const BpeFile& file);

/// The two halves of a merge written as "a b".
Result<std::pair<std::string_view, std::string_view>> split_merge(std::string_view merge,
                                                                  std::string_view where);

Result<TokenizerData> read_tokenizer_json(std::string_view text, std::string_view source);
Result<TokenizerData> read_tokenizer_gguf(const formats::GgufFile& file);
Result<TokenizerData> read_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace nereus::text
