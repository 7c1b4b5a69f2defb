#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "nereus/cli/commands.h"
#include "nereus/config/text_file.h"
#include "nereus/text/prompt_encoder.h"

namespace nereus::cli {

namespace {

struct Options {
  std::filesystem::path model, chat;
  std::string text;
  bool from_input = false, add_special = false, json = false;
};

/// The text that is tokenised.
Result<std::string> text_of(const Options& options, const text::Tokenizer& tokenizer) {
  if (options.from_input) return std::string(std::istreambuf_iterator<char>(std::cin), {});
  if (options.chat.empty()) return options.text;
  auto content = config::read_text_file(options.chat);
  if (!content) return pass(content);
  auto messages = parse_ordered_json(*content, options.chat.string());
  if (!messages) return pass(messages);
  if (!messages->is_array()) return fail("{}: expected an array of messages", options.chat.string());
  auto encoder = text::PromptEncoder::make(tokenizer);
  if (!encoder) return pass(encoder);
  return encoder->render(*messages, options.chat.string());
}

/// As JSON, on one line.
std::string shown(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Status tokenize(const Options& options) {
  auto tokenizer = text::Tokenizer::load(options.model);
  if (!tokenizer) return pass(tokenizer);
  auto text = text_of(options, *tokenizer);
  if (!text) return pass(text);
  const auto ids = tokenizer->encode(*text, options.add_special);
  if (options.json) {
    std::cout << shown({{"text", *text}, {"ids", ids}}) << "\n";
    return {};
  }
  for (const int32_t id : ids)
    std::cout << fmt::format("{:>7}  {}{}\n", id, shown(std::string(tokenizer->bytes(id))),
                             tokenizer->special(id) ? "  (special)" : "");
  std::cout << fmt::format("{} tokens\n", ids.size());
  return {};
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the token ids of a text or a chat");
  command->footer(
      "  nereus tokenize MODEL \"Hello world\"\n"
      "  nereus tokenize MODEL --chat messages.json     rendered by the model's chat template\n"
      "  nereus tokenize MODEL < file.txt");
  command->add_option("model", options->model, "Hugging Face folder or .gguf file")
      ->required()
      ->option_text("MODEL");
  auto* text = command->add_option("text", options->text, "Text; standard input where there is none")
                   ->option_text("TEXT");
  auto* chat = command->add_option("--chat", options->chat, "JSON file with an array of messages")
                   ->option_text("FILE")
                   ->excludes(text);
  command->add_flag("--special", options->add_special, "With the tokens that go around every text");
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, text, chat, &action] {
    options->from_input = text->count() == 0 && chat->count() == 0;
    action = [options] { return report(tokenize(*options)); };
  });
}

}  // namespace nereus::cli
