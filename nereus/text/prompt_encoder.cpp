#include "nereus/text/prompt_encoder.h"

namespace nereus::text {

Result<PromptEncoder> PromptEncoder::make(Tokenizer tokenizer, std::string system) {
  PromptEncoder encoder(std::move(tokenizer), std::move(system));
  const std::string& source = encoder.tokenizer_.chat_template();
  if (source.empty()) return encoder;
  auto parsed = ChatTemplate::parse(source, "chat template");
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

Result<std::vector<int32_t>> PromptEncoder::encode(const OrderedJson& prompt,
                                                   const std::string& source) const {
  std::vector<int32_t> tokens;
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

}  // namespace nereus::text
