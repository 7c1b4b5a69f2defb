#include "nereus/text/normalizer.h"

#include <gmock/gmock.h>

namespace nereus::text {
namespace {

Result<Normalizer> read(std::string_view json) {
  return Normalizer::from_json(value_or_throw(parse_json(json, "test")), "tokenizer.json: normalizer");
}

TEST(Normalizer, Applies) {
  struct Case {
    std::string json, text, expected;
  };
  const Case cases[] = {
      {"null", "e\u0301\u212b", "e\u0301\u212b"},
      {R"({"type": "NFC"})", "e\u0301\u212b ﬁ", "\u00e9\u00c5 ﬁ"},
      {R"({"type": "NFC"})", "", ""},
      {R"({"type": "NFD"})", "\u00e9", "e\u0301"},
      {R"({"type": "NFKC"})", "ﬁ①", "fi1"},
      {R"({"type": "NFKD"})", "\u00e9ﬁ", "e\u0301fi"},
      {R"({"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFC"}]})", "\u00e9ﬁ", "\u00e9fi"},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.json)->apply(c.text), c.expected) << c.json;
}

TEST(Normalizer, RefusesOthers) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"type": "Prepend", "prepend": "_"})",
       "tokenizer.json: normalizer.type is \"Prepend\"; expected NFC"},
      {R"({"kind": "NFC"})", "tokenizer.json: normalizer.type is missing"},
      {R"({"type": 3})", "tokenizer.json: normalizer.type: expected a string"},
      {R"({"type": "Sequence", "normalizers": 3})", "normalizer.normalizers: expected an array"},
      {R"([])", "tokenizer.json: normalizer: expected an object"},
  };
  for (const auto& [json, message] : cases) {
    const auto normalizer = read(json);
    ASSERT_FALSE(normalizer) << json;
    EXPECT_THAT(normalizer.error().message, testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::text
