#include <gmock/gmock.h>

#include <filesystem>

#include "golden_cases.h"
#include "nereus/text/tokenizer.h"

namespace nereus::text {
namespace {

using Ids = std::vector<int32_t>;

/// A model folder with the small Llama-3 tokenizer; gone with the test.
class Folder : public testing::Test {
 protected:
  Folder() {
    std::filesystem::create_directories(path_);
    std::filesystem::copy_file(golden_path("llama3_tokenizer.json"), path_ / "tokenizer.json");
  }
  ~Folder() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  Result<Tokenizer> load() const { return Tokenizer::load(path_); }
  std::string error() const { return load().error().message; }

  const std::filesystem::path path_ = std::filesystem::path(NEREUS_BINARY_DIR) / "tokenizer_folder_test";
};

TEST_F(Folder, NeedsOnlyTokenizerJson) {
  const auto tokenizer = load();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->bos(), std::nullopt);
  EXPECT_EQ(tokenizer->chat_template(), "");
  EXPECT_EQ(tokenizer->encode("", true), Ids{*tokenizer->id("<|endoftext|>")});
}

TEST_F(Folder, TakesNamesAndTemplateFromTheConfiguration) {
  write("tokenizer_config.json", R"({"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"},
    "pad_token": "[PAD]", "chat_template": "{{ messages }}", "model_max_length": 8192})");
  const Tokenizer tokenizer = value_or_throw(load());
  EXPECT_EQ(tokenizer.bos_text(), "<|im_start|>");
  EXPECT_EQ(tokenizer.bos(), tokenizer.id("<|im_start|>"));
  EXPECT_EQ(tokenizer.eos(), Ids{*tokenizer.id("<|im_end|>")});
  EXPECT_EQ(tokenizer.pad_text(), "[PAD]");
  EXPECT_EQ(tokenizer.chat_template(), "{{ messages }}");
}

TEST_F(Folder, OfSeveralTemplatesTakesTheDefault) {
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  EXPECT_EQ(load()->chat_template(), "d");
  write("chat_template.jinja", "{# file #}\n");
  EXPECT_EQ(load()->chat_template(), "{# file #}\n");
}

TEST_F(Folder, OlderFoldersNameTokensInTheSpecialTokensMap) {
  write("special_tokens_map.json", R"({"eos_token": "<|im_end|>", "bos_token": "<|im_end|>"})");
  write("tokenizer_config.json", R"({"bos_token": "<|im_start|>"})");
  EXPECT_EQ(load()->eos_text(), "<|im_end|>");
  EXPECT_EQ(load()->bos_text(), "<|im_start|>");
}

TEST_F(Folder, AddBosReplacesTheTemplateOfTokenizerJson) {
  write("tokenizer_config.json",
        R"({"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "add_bos_token": true,
    "add_eos_token": true})");
  const Tokenizer tokenizer = value_or_throw(load());
  EXPECT_EQ(tokenizer.encode("", true), (Ids{*tokenizer.bos(), tokenizer.eos()[0]}));
  write("tokenizer_config.json", R"({"bos_token": "<|im_start|>", "add_bos_token": false})");
  EXPECT_EQ(load()->encode("", true), Ids{});
}

TEST_F(Folder, ANamedTokenIsSpecial) {
  write("tokenizer_config.json", R"({"eos_token": "!"})");
  const Tokenizer tokenizer = value_or_throw(load());
  EXPECT_TRUE(tokenizer.special(*tokenizer.id("!")));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a!", false), true), "a");
}

TEST_F(Folder, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"eos_token": "<eos>"})", "tokenizer_config.json: eos_token: the vocabulary lacks \"<eos>\""},
      {R"({"bos_token": "<bos>"})", "tokenizer_config.json: bos_token: the vocabulary lacks \"<bos>\""},
      {R"({"bos_token": {"text": 1}})", "tokenizer_config.json: bos_token.content is missing"},
      {R"({"bos_token": 1})", "tokenizer_config.json: bos_token: expected an object"},
      {R"({"chat_template": 1})", "tokenizer_config.json: chat_template: expected a string or a list"},
      {R"({"chat_template": [{"template": "x"}]})", "chat_template[].name is missing"},
      {R"({"add_bos_token": "yes"})", "tokenizer_config.json.add_bos_token: expected true or false"},
      {"[]", "tokenizer_config.json: expected an object"},
      {"{", "tokenizer_config.json: not valid JSON"},
  };
  for (const auto& [config, message] : cases) {
    write("tokenizer_config.json", config);
    ASSERT_FALSE(load()) << config;
    EXPECT_THAT(error(), testing::HasSubstr(message));
  }
  std::filesystem::remove(path_ / "tokenizer.json");
  EXPECT_THAT(error(), testing::HasSubstr("no tokenizer.json; expected one"));
  EXPECT_FALSE(Tokenizer::load(path_ / "none.gguf"));
}

}  // namespace
}  // namespace nereus::text
