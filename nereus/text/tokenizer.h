#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/formats/gguf.h"

namespace nereus::text {

struct TokenizerData;

/// Byte-level BPE with special tokens, as Hugging Face's tokenizers compute it. Immutable and thread-safe;
/// copies share their tables. It turns text into ids and ids into text, and never one by way of the other:
/// ids that a model sampled stay as they are.
class Tokenizer {
 public:
  /// The content of a tokenizer.json; `source` names it in errors. Chat template and begin and end tokens are
  /// in other files: see `load`.
  static Result<Tokenizer> from_json(std::string_view tokenizer_json, std::string_view source);
  /// The `tokenizer.ggml.*` keys of a GGUF file whose `tokenizer.ggml.model` is "gpt2".
  static Result<Tokenizer> from_gguf(const formats::GgufFile& file);
  /// A Hugging Face folder (tokenizer.json, with tokenizer_config.json, special_tokens_map.json and
  /// chat_template.jinja where there are such) or a .gguf file.
  static Result<Tokenizer> load(const std::filesystem::path& model);

  /// Ids of `text`. Added tokens written in it become their ids; bytes that are no UTF-8 count as U+FFFD.
  /// With `add_special` come the tokens that the file puts around every text (for Llama-3 its begin token): a
  /// text rendered by a chat template has them already.
  std::vector<int32_t> encode(std::string_view text, bool add_special) const;
  /// Text of `ids`, valid UTF-8 (what is none becomes U+FFFD); `skip_special` leaves special tokens out. Ids
  /// without a token give nothing.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;

  /// The greatest id plus one. A model's table may have more rows.
  int32_t vocab_size() const;
  std::optional<int32_t> id(std::string_view token) const;  ///< by the text in the file, such as "Ġthe"
  std::string_view token(int32_t id) const;                 ///< as the file writes it; "" without such an id
  std::string_view bytes(int32_t id) const;  ///< what the token stands for; "" without such an id
  bool special(int32_t id) const;            ///< false without such an id

  std::optional<int32_t> bos() const;
  std::vector<int32_t> eos() const;  ///< every end id that the files name, the main one first; maybe none
  std::string bos_text() const;      ///< "" where there is none
  std::string eos_text() const;      ///< text of the main one
  std::string pad_text() const;
  std::string unk_text() const;
  /// Jinja source; "" where there is none. Of several named templates the one called "default".
  const std::string& chat_template() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerData> data);
  std::shared_ptr<const TokenizerData> data_;
};

}  // namespace nereus::text
