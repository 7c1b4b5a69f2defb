#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/types.h"
#include "nereus/tasks/data_order.h"
#include "nereus/tasks/dataset.h"
#include "nereus/text/chat_template.h"
#include "nereus/text/tokenizer.h"

namespace nereus::runtime {

/// Turns samples into token ids: chats by the model's template, plain texts as they are. Immutable, so
/// thread-safe.
class PromptEncoder {
 public:
  /// `system` is put before chats without a system message. Error: the model's chat template is broken.
  static Result<PromptEncoder> make(text::Tokenizer tokenizer, std::string system = "");

  /// Ids of a prompt: a text, or an array of messages. Special tokens in it are kept. Error: `source`, the
  /// template's message, or that the model has no chat template.
  Result<rollout::Tokens> encode(const OrderedJson& prompt, const std::string& source) const;

  /// The text of a chat as the template renders it, with the prompt for the answer.
  Result<std::string> render(const OrderedJson& messages, const std::string& source) const;

  const text::Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  PromptEncoder(text::Tokenizer tokenizer, std::string system)
      : tokenizer_(std::move(tokenizer)), system_(std::move(system)) {}

  text::Tokenizer tokenizer_;
  std::string system_;
  std::optional<text::ChatTemplate> template_;
};

/// A sample with its ids, and its number in the data stream.
struct Prompt {
  uint64_t id = 0;
  tasks::Sample sample;
  rollout::Tokens tokens;
};

/// The error for a prompt that is longer than fits.
tl::unexpected<Error> too_long(const std::string& source, size_t tokens, int64_t most);

struct PromptStreamOptions {
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t max_tokens = 0;  ///< longest prompt
  bool skip_long = false;  ///< skip and count longer ones; else they are errors
};

/// The run's stream of prompts. Its place is one number, the cursor, so that a run can go on where it was.
/// Not thread-safe; does not own the data set.
class PromptStream {
 public:
  PromptStream(const tasks::Dataset& data, const PromptEncoder& encoder, PromptStreamOptions options)
      : data_(data),
        encoder_(encoder),
        options_(options),
        order_(data.size(), options.seed, options.shuffle) {}

  /// The next `count` prompts. Error: an over-long prompt (or, where they are skipped, two passes over the
  /// data without a shorter one), or the data cannot be read.
  Result<std::vector<Prompt>> take(int64_t count);
  /// A prompt that was taken before, by its id.
  Result<Prompt> at(uint64_t id) const;

  uint64_t cursor() const { return cursor_; }
  int64_t skipped() const { return skipped_; }  ///< over-long prompts so far
  void restore(uint64_t cursor, int64_t skipped) { cursor_ = cursor, skipped_ = skipped; }

 private:
  const tasks::Dataset& data_;
  const PromptEncoder& encoder_;
  PromptStreamOptions options_;
  tasks::DataOrder order_;
  uint64_t cursor_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace nereus::runtime
