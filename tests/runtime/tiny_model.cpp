#include "tests/runtime/tiny_model.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "nereus/base/json.h"
#include "nereus/checkpoint/init_model.h"
#include "nereus/checkpoint/write_model.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "nereus_test_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path ScratchFolder::write(const std::string& name, const std::string& text) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name) << text;
  return path_ / name;
}

void write_tiny_model(const fs::path& folder, unsigned seed) {
  spec::ModelConfig config;
  config.vocab = 1012;
  config.hidden = 32;
  config.intermediate = 64;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.context = 128;
  config.tied = true;
  config.bos_id = 1000;
  config.eos_ids = {1001};
  fs::create_directories(folder);
  value_or_throw(checkpoint::write_model(folder, config, checkpoint::init_model(config, seed),
                                         formats::DType::f32, nullptr));
  fs::copy_file(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/text/smollm_tokenizer.json",
                folder / "tokenizer.json", fs::copy_options::overwrite_existing);
  const OrderedJson tokenizer = {
      {"bos_token", "<|im_start|>"},
      {"eos_token", "<|im_end|>"},
      {"chat_template",
       "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
       "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"}};
  std::ofstream(folder / "tokenizer_config.json") << tokenizer.dump(1);
}

std::string file_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

}  // namespace nereus::runtime
