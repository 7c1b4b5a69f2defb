#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/text/chat_template.h"
#include "nereus/text/tokenizer.h"

namespace nereus::text {

/// Turns prompts into token ids: chats by the model's template, plain texts as they are. Immutable, so
/// thread-safe.
class PromptEncoder {
 public:
  /// `system` is put before chats without a system message. Error: the model's chat template is broken.
  static Result<PromptEncoder> make(Tokenizer tokenizer, std::string system = "");

  /// Ids of a prompt: a text, or an array of messages. Special tokens in it are kept. Error: `source`, the
  /// template's message, or that the model has no chat template.
  Result<std::vector<int32_t>> encode(const OrderedJson& prompt, const std::string& source) const;

  /// The text of a chat as the template renders it, with the prompt for the answer.
  Result<std::string> render(const OrderedJson& messages, const std::string& source) const;

  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  PromptEncoder(Tokenizer tokenizer, std::string system)
      : tokenizer_(std::move(tokenizer)), system_(std::move(system)) {}

  Tokenizer tokenizer_;
  std::string system_;
  std::optional<ChatTemplate> template_;
};

}  // namespace nereus::text
