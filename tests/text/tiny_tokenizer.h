#pragma once

#include <filesystem>
#include <fstream>

#include "nereus/base/json.h"

namespace nereus::text {

/// Writes a byte-level tokenizer of 1,012 tokens with a chat template, as the files of a Hugging Face folder.
inline void write_tiny_tokenizer(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  fs::copy_file(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/text/smollm_tokenizer.json",
                folder / "tokenizer.json", fs::copy_options::overwrite_existing);
  const OrderedJson config = {
      {"bos_token", "<|im_start|>"},
      {"eos_token", "<|im_end|>"},
      {"chat_template",
       "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
       "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"}};
  std::ofstream(folder / "tokenizer_config.json") << config.dump(1);
}

}  // namespace nereus::text
