#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/base/json.h"
#include "tests/formats/scratch_folder.h"
#include "tests/integration/command.h"
#include "tests/text/tiny_tokenizer.h"

namespace nereus::cli {
namespace {

using integration::Command;
using ::testing::HasSubstr;

class Tokenize : public ::testing::Test {
 protected:
  void SetUp() override { text::write_tiny_tokenizer(model_); }
  /// What it prints, errors too.
  std::string said(std::vector<std::string> arguments, int code) {
    arguments.insert(arguments.begin(), {"tokenize", model_});
    Command command(scratch_.path().string(), arguments);
    EXPECT_EQ(command.wait(), code) << command.err();
    return command.out() + command.err();
  }

  test::ScratchFolder scratch_;
  std::string model_ = (scratch_ / "tiny").string();
};

TEST_F(Tokenize, Texts) {
  EXPECT_THAT(said({"hi<|im_end|>"}, 0), HasSubstr("\"<|im_end|>\"  (special)\n"));
  const Json json = Json::parse(said({"hi<|im_end|>", "--json"}, 0));
  EXPECT_EQ(json["text"], "hi<|im_end|>");
  EXPECT_EQ(json["ids"].back(), 1001);
}

TEST_F(Tokenize, Chats) {
  const auto chat = scratch_.write("chat.json", R"([{"role": "user", "content": "hi"}])").string();
  const Json json = Json::parse(said({"--chat", chat, "--json"}, 0));
  EXPECT_EQ(json["text"], "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(json["ids"][0], 1000);
  const auto bad = scratch_.write("bad.json", "{}").string();
  EXPECT_THAT(said({"--chat", bad}, 1), HasSubstr("bad.json: expected an array"));
  EXPECT_THAT(said({"--chat", chat, "text"}, 2), HasSubstr("text excludes --chat"));
}

}  // namespace
}  // namespace nereus::cli
