#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "nereus/base/result.h"

namespace nereus::runtime {

struct TokenizeCommand {
  std::filesystem::path model{};
  std::string text{};
  std::filesystem::path chat{};  ///< JSON file of messages, rendered by the template; instead of `text`
  bool add_special = false;      ///< with the tokens that the tokenizer puts around every text
  bool json = false;
};

/// Prints the ids of a text, or of a chat, each with what it stands for.
Status tokenize(const TokenizeCommand& command, std::ostream& out);

}  // namespace nereus::runtime
