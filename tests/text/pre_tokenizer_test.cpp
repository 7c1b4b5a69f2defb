#include "nereus/text/pre_tokenizer.h"

#include <gmock/gmock.h>

namespace nereus::text {
namespace {

constexpr std::string_view kWhere = "tokenizer.json: pre_tokenizer";
const std::string kBytes = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";

Result<PreTokenizer> read(std::string_view json) {
  return PreTokenizer::from_json(value_or_throw(parse_json(json, "test")), kWhere);
}

std::vector<std::string> pieces(const PreTokenizer& pre_tokenizer, std::string text) {
  std::vector<std::string> out;
  const auto spans = pre_tokenizer.split(text);
  for (const Span& span : spans) out.push_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

std::string sequence(const std::string& step) {
  return R"({"type": "Sequence", "pretokenizers": [)" + step + ", " + kBytes + "]}";
}

std::string split(const std::string& behavior, bool invert) {
  return sequence(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                  R"(", "invert": )" + (invert ? "true}" : "false}"));
}

using Strings = std::vector<std::string>;

// The expected pieces of "the-final--countdown" are those that the documentation of HF's tokenizers lists.
TEST(PreTokenizer, SplitsByEachBehavior) {
  const std::string text = "the-final--countdown";
  const std::pair<std::string, Strings> cases[] = {
      {split("Isolated", false), {"the", "-", "final", "-", "-", "countdown"}},
      {split("Removed", false), {"the", "final", "countdown"}},
      {split("Removed", true), {"-", "-", "-"}},
      {split("MergedWithPrevious", false), {"the-", "final-", "-", "countdown"}},
      {split("MergedWithNext", false), {"the", "-final", "-", "-countdown"}},
      {split("Contiguous", false), {"the", "-", "final", "--", "countdown"}},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(pieces(*read(json), text), expected) << json;
}

TEST(PreTokenizer, Steps) {
  struct Case {
    std::string json, text;
    Strings expected;
  };
  const Case cases[] = {
      {kBytes, "", {}},
      {kBytes, "a b 12", {"a b 12"}},
      {R"({"type": "ByteLevel"})", "a  b12", {" a", " ", " b", "12"}},
      {R"({"type": "ByteLevel", "add_prefix_space": true})", " a", {" a"}},
      {R"({"type": "ByteLevel", "add_prefix_space": false})",
       "I'm a  b\n",
       {"I", "'m", " a", " ", " b", "\n"}},
      {sequence(R"({"type": "Digits", "individual_digits": true})"), "a12 ½", {"a", "1", "2", " ", "½"}},
      {sequence(R"({"type": "Digits", "individual_digits": false})"), "a12 b", {"a", "12", " b"}},
      {sequence(R"({"type": "Split", "pattern": {"Regex": "\\d{1,2}"}, "behavior": "Isolated"})"),
       "12345x",
       {"12", "34", "5", "x"}},
      {sequence(R"({"type": "Split", "pattern": {"String": "a.b"}, "behavior": "Isolated"})"),
       "a.b axb",
       {"a.b", " axb"}},
      // A step sees each piece alone: the space before the digit is the piece's end.
      {R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
          {"type": "ByteLevel", "add_prefix_space": false}]})",
       "a  7",
       {"a", "  ", "7"}},
  };
  for (const Case& c : cases) EXPECT_EQ(pieces(*read(c.json), c.text), c.expected) << c.json;
}

TEST(PreTokenizer, PrefixSpaceGoesToEveryPieceOfTheStepBefore) {
  const auto json = R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
    {"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}]})";
  EXPECT_EQ(pieces(*read(json), "a1 b"), (Strings{" a", " 1", " b"}));
}

TEST(PreTokenizer, RefusesWhatItCannotDo) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"type": "Metaspace"})", "pre_tokenizer.type is \"Metaspace\"; expected Split, Digits, ByteLevel"},
      {R"({"type": "Digits"})", "expected a ByteLevel step at the end"},
      {R"({"type": "Sequence", "pretokenizers": []})", "expected a ByteLevel step at the end"},
      {sequence(kBytes), "pre_tokenizer.pretokenizers[1]: ByteLevel after ByteLevel is not supported"},
      {split("Sideways", false), "pre_tokenizer.pretokenizers[0].behavior: unknown \"Sideways\""},
      {sequence(R"({"type": "Split", "pattern": {"Glob": "*"}, "behavior": "Isolated"})"),
       "expected a Regex or a String"},
      {sequence(R"({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
       "pattern: bad pattern"},
      {R"({"type": "ByteLevel", "use_regex": 1})", "pre_tokenizer.use_regex: expected true or false"},
      {R"({"type": "Sequence"})", "pre_tokenizer.pretokenizers is missing"},
  };
  for (const auto& [json, message] : cases) {
    const auto pre_tokenizer = read(json);
    ASSERT_FALSE(pre_tokenizer) << json;
    EXPECT_THAT(pre_tokenizer.error().message, testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::text
