// Transformers and PEFT load what is written here. Skipped where scripts/bench has not installed them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/init_model.h"
#include "nereus/checkpoint/write_model.h"
#include "tests/checkpoint/golden.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::checkpoint {
namespace {

const std::filesystem::path kPython =
    std::filesystem::path(NEREUS_SOURCE_DIR) / ".deps/peers/python/bin/python";

/// The exit status of the check.
int check(const std::string& arguments) {
  const auto script = test::golden("check_loaded_by_transformers.py");
  return std::system(
      fmt::format("HF_HUB_OFFLINE=1 {} {} {}", kPython.string(), script.string(), arguments).c_str());
}

class Peers : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPython)) GTEST_SKIP() << kPython << " is not there: run scripts/bench";
  }
  test::ScratchFolder folder_;
};

TEST_F(Peers, AConvertedGgufModelWithItsTokenizer) {
  const auto source = value_or_throw(Source::open(test::golden("tiny.gguf")));
  ASSERT_TRUE(write_model(folder_ / "m", source.config(), test::read_all(source), formats::DType::bf16,
                          &source, 100000));
  EXPECT_EQ(check(fmt::format("{} --tokenizer-like {}", (folder_ / "m").string(),
                              test::golden("tiny.gguf").string())),
            0);
}

TEST_F(Peers, ANewModelWithLlama3RopeAndAnAdapter) {
  spec::ModelConfig config = {.vocab = 40,
                              .hidden = 16,
                              .intermediate = 24,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 8,
                              .context = 32,
                              .rope_theta = 5e5,
                              .llama3_rope = true,
                              .rope_scaling = {.factor = 8, .original_context = 16},
                              .bos_id = 1,
                              .eos_ids = {2, 3}};
  const auto tensors = init_model(config, 1);
  ASSERT_TRUE(write_model(folder_ / "m", config, tensors, formats::DType::f32, nullptr));
  Adapter adapter{
      .rank = 2, .alpha = 3.5, .rslora = true, .target_modules = {"o_proj", "up_proj"}, .modules = {}};
  for (const auto& [name, tensor] : tensors) {
    if (name.find("o_proj") == std::string::npos && name.find("up_proj") == std::string::npos) continue;
    adapter.modules[name.substr(0, name.rfind('.'))] = {tensor.narrow(0, 0, 2), tensor.narrow(1, 0, 2)};
  }
  ASSERT_EQ(adapter.modules.size(), 4U);
  ASSERT_TRUE(write_adapter(folder_ / "a", adapter, (folder_ / "m").string()));
  EXPECT_EQ(check(fmt::format("{} --adapter {}", (folder_ / "m").string(), (folder_ / "a").string())), 0);
}

}  // namespace
}  // namespace nereus::checkpoint
