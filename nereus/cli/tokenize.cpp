#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "nereus/cli/commands.h"
#include "nereus/runtime/tokenize_job.h"

namespace nereus::cli {

namespace {

int run(runtime::TokenizeCommand& command, bool from_input) {
  if (from_input) command.text.assign(std::istreambuf_iterator<char>(std::cin), {});
  return report(runtime::tokenize(command, std::cout));
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto shared = std::make_shared<runtime::TokenizeCommand>();
  auto& command = *shared;
  CLI::App* tokenize = app.add_subcommand("tokenize", "Show the token ids of a text or a chat");
  tokenize->footer(
      "  nereus tokenize MODEL \"Hello world\"\n"
      "  nereus tokenize MODEL --chat messages.json     rendered by the model's chat template\n"
      "  nereus tokenize MODEL < file.txt");
  tokenize->add_option("model", command.model, "Hugging Face folder or .gguf file")
      ->required()
      ->option_text("MODEL");
  auto* text = tokenize->add_option("text", command.text, "Text; standard input where there is none")
                   ->option_text("TEXT");
  auto* chat = tokenize->add_option("--chat", command.chat, "JSON file with an array of messages")
                   ->option_text("FILE")
                   ->excludes(text);
  tokenize->add_flag("--special", command.add_special, "With the tokens that go around every text");
  tokenize->add_flag("--json", command.json, "Print one line of JSON");
  tokenize->callback([shared, text, chat, &action] {
    const bool from_input = text->count() == 0 && chat->count() == 0;
    action = [shared, from_input] { return run(*shared, from_input); };
  });
}

}  // namespace nereus::cli
