#include "tests/runtime/tiny_model.h"

#include <fstream>
#include <sstream>

#include "nereus/checkpoint/init_model.h"
#include "nereus/checkpoint/write_model.h"
#include "tests/text/tiny_tokenizer.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

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
  text::write_tiny_tokenizer(folder);
}

std::string file_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

}  // namespace nereus::runtime
