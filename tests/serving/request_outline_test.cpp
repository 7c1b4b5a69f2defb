#include "nereus/serving/request_outline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "nereus/base/json.h"
#include "nereus/serving/routing.h"

namespace nereus::serving {
namespace {

using testing::HasSubstr;

std::vector<uint64_t> blocks(const std::string& request) {
  return value_or_throw(read_outline(request, 16, 8)).blocks;
}

TEST(RequestOutline, BlocksOfTokenIds) {
  std::vector<int32_t> tokens(40);
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto expected = block_hashes("m", tokens, 16);
  const std::string ids = Json(tokens).dump(), others = Json(std::vector<int>(40, 7)).dump();
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": )" + ids + "}"), expected);
  // The order of keys does not matter.
  EXPECT_EQ(blocks(R"({"prompt": )" + ids + R"(, "n": 2, "model": "m"})"), expected);
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": [)" + ids + "]}"), expected);
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": [)" + ids + "," + others + "]}"), expected);
  EXPECT_NE(blocks(R"({"model": "other", "prompt": )" + ids + "}"), expected);
}

TEST(RequestOutline, BlocksOfText) {
  const auto expected = text_block_hashes("m", "twelve bytes", 8);
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": "twelve bytes"})"), expected);
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": ["twelve bytes", "others"], "stop": ["a"]})"), expected);
  EXPECT_EQ(blocks(R"({"model": "m", "prompt": "twelve\u0020bytes"})"), expected);
}

TEST(RequestOutline, AChatSharesTheBlocksOfItsBeginning) {
  const Json user = {{"role", "user"}, {"content", "a question"}};
  const Json more = {{"role", "assistant"}, {"content", "an answer"}};
  const auto chat = [](Json messages) { return Json({{"messages", std::move(messages)}}).dump(); };
  const auto first = blocks(chat(Json::array({user}))), second = blocks(chat(Json::array({user, more})));
  ASSERT_FALSE(first.empty());
  ASSERT_GT(second.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
  EXPECT_NE(blocks(chat(Json::array({more}))), first);
}

TEST(RequestOutline, WhatIsNoPromptHasNoBlocks) {
  for (const char* text :
       {R"({})", R"({"prompt": 1})", R"({"prompt": []})", R"({"prompt": [1, "a b c d e f"]})",
        R"({"prompt": {"a": "a b c d e f"}})", R"({"prompt": [{"a": [1]}, "a b c d e f"]})",
        R"({"messages": 1})", R"({"prompt": null})", R"({"prompt": [[1, 2.5]]})",
        R"({"prompt": [["a b c d e f"]]})"})
    EXPECT_TRUE(blocks(text).empty()) << text;
}

TEST(RequestOutline, Models) {
  const auto model = [](std::string_view text) { return value_or_throw(read_outline(text, 16, 8)).model; };
  EXPECT_EQ(model(R"({"a": {"model": "inner"}, "model": "m", "b": [{"model": "x"}]})"), "m");
  EXPECT_EQ(model(R"({"model": null, "a": "model"})"), "");
  EXPECT_EQ(model("{}"), "");
}

TEST(RequestOutline, BadRequests) {
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"", "request: not valid JSON"},
      {"{", "request: not valid JSON"},
      {R"({"prompt": [1,]})", "request: not valid JSON"},
      {R"({"a": 1}})", "request: not valid JSON"},
      {"{\"prompt\": \"\xff\"}", "request: not valid JSON"},
      {"[]", "expected a JSON object"},
      {R"([{"model": "m"}])", "expected a JSON object"},
      {"\"model\"", "expected a JSON object"},
      {"3", "expected a JSON object"},
      {R"({"a": )" + std::string(300, '[') + std::string(300, ']') + "}", "nested deeper than 256 levels"},
      // Without a name it would be the base model's.
      {R"({"model": 3})", "\"model\": expected a text"},
      {R"({"model": true})", "\"model\": expected a text"},
      {R"({"model": ["m"]})", "\"model\": expected a text"},
      {R"({"model": {"model": "m"}})", "\"model\": expected a text"},
      // Another reader may believe the other one.
      {R"({"model": "a", "model": "b"})", "\"model\" is there twice"},
      {R"({"prompt": [1], "prompt": "a"})", "\"prompt\" is there twice"},
  };
  for (const auto& c : cases) {
    const auto outline = read_outline(c.text, 16, 8);
    ASSERT_FALSE(outline) << c.text.substr(0, 60);
    EXPECT_THAT(outline.error().message, HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace nereus::serving
