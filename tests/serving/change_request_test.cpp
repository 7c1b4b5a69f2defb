#include "nereus/serving/change_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::serving {
namespace {

using testing::HasSubstr;

constexpr const char* kLoad = "/v1/load_lora_adapter";

TEST(ChangeRequest, WhatIsAsked) {
  const auto load =
      value_or_throw(read_change_request(kLoad, "", R"({"lora_name": "a", "lora_path": "/x"})"));
  EXPECT_EQ(load.name, "a");
  EXPECT_EQ(load.path, "/x");
  EXPECT_FALSE(load.in_place);
  for (const auto& [text, in_place] : {std::pair{"true", true}, {"false", false}, {"null", false}}) {
    const std::string body =
        fmt::format(R"({{"lora_name": "a", "lora_path": "/x", "load_inplace": {}}})", text);
    EXPECT_EQ(value_or_throw(read_change_request(kLoad, "", body)).in_place, in_place) << text;
  }
  EXPECT_EQ(value_or_throw(read_change_request("/v1/unload_lora_adapter", "", R"({"lora_name": "a"})")).name,
            "a");
  EXPECT_EQ(value_or_throw(read_change_request("/pause", "", "")).mode, PauseMode::keep);
  EXPECT_EQ(value_or_throw(read_change_request("/pause", "abort", "{}")).mode, PauseMode::abort);
  EXPECT_TRUE(read_change_request("/resume", "", ""));
}

TEST(ChangeRequest, BadRequestsNameWhatIsWrong) {
  struct Case {
    const char *endpoint, *mode, *body, *error;
  };
  const Case cases[] = {
      {kLoad, "", "[]", "request: expected a JSON object"},
      {kLoad, "", "{\"lora_name\"", "request: not valid JSON"},
      {kLoad, "", "", "\"lora_name\": expected up to 128 letters"},
      {kLoad, "", R"({"lora_name": ["a"], "lora_path": "/x"})", "\"lora_name\": expected a text"},
      {kLoad, "", R"({"lora_name": "../a", "lora_path": "/x"})", "\"lora_name\": expected up to 128 letters"},
      {kLoad, "", R"({"lora_name": "a"})", "\"lora_path\": expected the folder"},
      {kLoad, "", R"({"lora_name": "a", "lora_path": 3})", "\"lora_path\": expected a text"},
      {kLoad, "", R"({"lora_name": "a", "lora_path": "/x\u0000"})", "\"lora_path\": expected the folder"},
      {kLoad, "", R"({"lora_name": "a", "lora_path": "/x", "load_inplace": "true"})",
       "\"load_inplace\": expected true or false"},
      {kLoad, "", R"({"lora_name": "a", "lora_path": "/x", "load_inplace": 1})",
       "\"load_inplace\": expected true or false"},
      {"/v1/unload_lora_adapter", "", R"({"lora_name": 1})", "\"lora_name\": expected a text"},
      {"/pause", "later", "", "later: expected a way of pausing"},
      {"/pause", "", "1", "request: expected a JSON object"},
  };
  for (const auto& c : cases) {
    const auto change = read_change_request(c.endpoint, c.mode, c.body);
    ASSERT_FALSE(change) << c.body;
    EXPECT_THAT(change.error().message, HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace nereus::serving
