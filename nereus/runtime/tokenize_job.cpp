#include "nereus/runtime/tokenize_job.h"

#include <ostream>

#include "nereus/config/text_file.h"
#include "nereus/runtime/prompts.h"

namespace nereus::runtime {

namespace {

/// The text that is tokenised.
Result<std::string> text_of(const TokenizeCommand& command, const text::Tokenizer& tokenizer) {
  if (command.chat.empty()) return command.text;
  auto content = config::read_text_file(command.chat);
  if (!content) return pass(content);
  auto messages = parse_ordered_json(*content, command.chat.string());
  if (!messages) return pass(messages);
  if (!messages->is_array()) return fail("{}: expected an array of messages", command.chat.string());
  auto encoder = PromptEncoder::make(tokenizer);
  if (!encoder) return pass(encoder);
  return encoder->render(*messages, command.chat.string());
}

std::string shown(std::string_view bytes) {
  return OrderedJson(std::string(bytes)).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

Status tokenize(const TokenizeCommand& command, std::ostream& out) {
  auto tokenizer = text::Tokenizer::load(command.model);
  if (!tokenizer) return pass(tokenizer);
  auto text = text_of(command, *tokenizer);
  if (!text) return pass(text);
  const auto ids = tokenizer->encode(*text, command.add_special);
  if (command.json) {
    out << OrderedJson{{"text", *text}, {"ids", ids}}.dump(-1, ' ', false,
                                                           OrderedJson::error_handler_t::replace)
        << "\n";
    return {};
  }
  for (const int32_t id : ids)
    out << fmt::format("{:>7}  {}{}\n", id, shown(tokenizer->bytes(id)),
                       tokenizer->special(id) ? "  (special)" : "");
  out << fmt::format("{} tokens\n", ids.size());
  return {};
}

}  // namespace nereus::runtime
