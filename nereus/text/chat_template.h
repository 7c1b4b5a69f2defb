#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::text {

namespace jinja {
struct Template;
}

/// What a template may use up and see; the defaults stop a hostile template within seconds.
struct RenderOptions {
  uint64_t max_work = 30'000'000;         ///< evaluated nodes, plus one for each 16 bytes or element handled
  size_t max_output = size_t{64} << 20;   ///< bytes of rendered text
  std::function<std::tm()> local_time{};  ///< what `strftime_now` formats; the real clock where empty
};

/// A model's chat template: Jinja with the environment and the whitespace rules of Hugging Face Transformers.
/// Immutable, so thread-safe.
class ChatTemplate {
 public:
  /// An error reads "NAME:LINE: what is wrong".
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  /// The chat as text. `variables` is an object: messages, tools, documents, add_generation_prompt,
  /// bos_token, eos_token and whatever else the template reads. What `raise_exception` says and what fails at
  /// run time is an error that reads "NAME:LINE: message".
  Result<std::string> render(const OrderedJson& variables, const RenderOptions& options = {}) const;

  const std::string& name() const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Template> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const jinja::Template> parsed_;
};

/// Whether the chat only grows at its end: each cut of `variables["messages"]` after a user, assistant or
/// tool message renders to a prefix of the chat with one more message. Where that message is the assistant's,
/// the shorter chat ends in the generation prompt. Templates that rewrite earlier turns (dropped reasoning,
/// another end token for the last turn) give false: their turns must be tokenised apart, or multi-turn
/// training refused.
Result<bool> prefix_preserving(const ChatTemplate& chat_template, const OrderedJson& variables,
                               const RenderOptions& options = {});

}  // namespace nereus::text
