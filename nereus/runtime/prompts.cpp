#include "nereus/runtime/prompts.h"

namespace nereus::runtime {

Result<PromptEncoder> PromptEncoder::make(text::Tokenizer tokenizer, std::string system) {
  PromptEncoder encoder(std::move(tokenizer), std::move(system));
  const std::string& source = encoder.tokenizer_.chat_template();
  if (source.empty()) return encoder;
  auto parsed = text::ChatTemplate::parse(source, "chat template");
  if (!parsed) return pass(parsed);
  encoder.template_ = std::move(*parsed);
  return encoder;
}

Result<std::string> PromptEncoder::render(const OrderedJson& messages, const std::string& source) const {
  if (!template_)
    return fail(
        "{}: the model has no chat template, so messages cannot be rendered; give a text as \"prompt\"",
        source);
  OrderedJson chat = messages;
  const bool has_system = !chat.empty() && chat[0].is_object() && chat[0].value("role", "") == "system";
  if (!system_.empty() && !has_system)
    chat.insert(chat.begin(), OrderedJson{{"role", "system"}, {"content", system_}});
  auto text = template_->render({{"messages", chat},
                                 {"add_generation_prompt", true},
                                 {"tools", nullptr},
                                 {"documents", nullptr},
                                 {"bos_token", tokenizer_.bos_text()},
                                 {"eos_token", tokenizer_.eos_text()},
                                 {"pad_token", tokenizer_.pad_text()},
                                 {"unk_token", tokenizer_.unk_text()}});
  if (!text) return fail("{}: {}", source, text.error().message);
  return text;
}

Result<rollout::Tokens> PromptEncoder::encode(const OrderedJson& prompt, const std::string& source) const {
  rollout::Tokens tokens;
  if (prompt.is_array()) {
    auto text = render(prompt, source);
    if (!text) return pass(text);
    tokens = tokenizer_.encode(*text, false);
  } else if (prompt.is_string()) {
    tokens = tokenizer_.encode(prompt.get_ref<const std::string&>(), true);
  }
  if (tokens.empty()) return fail("{}: the prompt is empty", source);
  return tokens;
}

tl::unexpected<Error> too_long(const std::string& source, size_t tokens, int64_t most) {
  return fail(
      "{}: the prompt has {} tokens, at most {} fit; data.skip_long_prompts = true skips such prompts",
      source, tokens, most);
}

Result<Prompt> PromptStream::at(uint64_t id) const {
  auto sample = data_.at(order_.index(id));
  if (!sample) return pass(sample);
  auto tokens = encoder_.encode(sample->prompt, sample->source);
  if (!tokens) return pass(tokens);
  return Prompt{id, std::move(*sample), std::move(*tokens)};
}

Result<std::vector<Prompt>> PromptStream::take(int64_t count) {
  std::vector<Prompt> prompts;
  uint64_t skipped_in_a_row = 0;
  while (std::ssize(prompts) < count) {
    auto prompt = at(cursor_);
    if (!prompt) return pass(prompt);
    const bool fits = std::ssize(prompt->tokens) <= options_.max_tokens;
    if (!fits && !options_.skip_long)
      return too_long(prompt->sample.source, prompt->tokens.size(), options_.max_tokens);
    if (fits) prompts.push_back(std::move(*prompt));
    ++cursor_;
    skipped_ += fits ? 0 : 1;
    skipped_in_a_row = fits ? 0 : skipped_in_a_row + 1;
    // Two passes in different orders may have a whole pass of long ones between two short ones.
    if (skipped_in_a_row >= 2 * data_.size())
      return fail("{}: every prompt is longer than {} tokens", data_.description(), options_.max_tokens);
  }
  return prompts;
}

}  // namespace nereus::runtime
