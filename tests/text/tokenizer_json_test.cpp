#include <gmock/gmock.h>

#include "golden_cases.h"
#include "nereus/text/tokenizer.h"

namespace nereus::text {
namespace {

using Ids = std::vector<int32_t>;

/// A small tokenizer.json, with the value at a JSON pointer replaced (or taken away by null).
Json with(const std::string& pointer, const Json& value) {
  Json json = value_or_throw(parse_json(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true}, {"id": 5, "content": "</s>", "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [4]}, "</s>": {"id": "</s>", "ids": [5]}}},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "unk_token": null, "dropout": null, "byte_fallback": false,
      "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]}})",
                                        "test"));
  if (!pointer.empty()) json[Json::json_pointer(pointer)] = value;
  return json;
}

Result<Tokenizer> read(const Json& json) {
  return Tokenizer::from_json(json.dump(), "tokenizer.json");
}

TEST(TokenizerJson, Reads) {
  const Tokenizer tokenizer = value_or_throw(read(with("", {})));
  EXPECT_EQ(tokenizer.vocab_size(), 6);
  EXPECT_EQ(tokenizer.encode("abba<s>", false), (Ids{2, 1, 0, 4}));
  EXPECT_EQ(tokenizer.encode("ab", true), (Ids{4, 2, 5}));
  EXPECT_EQ(tokenizer.encode("", true), (Ids{4, 5}));
  EXPECT_EQ(tokenizer.encode("azb", false),
            Ids{2});  // bytes that the vocabulary lacks are left out, as in HF
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_TRUE(tokenizer.eos().empty());
  EXPECT_EQ(tokenizer.chat_template(), "");
}

TEST(TokenizerJson, ReadsItsOlderAndNewerForms) {
  EXPECT_EQ(
      value_or_throw(read(with("/model/merges", Json::array({Json::array({"a", "b"})})))).encode("ab", false),
      Ids{2});
  EXPECT_EQ(value_or_throw(read(with("/model/unk_token", "b"))).encode("az", false), Ids{2});
  EXPECT_EQ(value_or_throw(read(with("/decoder", nullptr))).decode(Ids{3, 2}, false), " ab");
  EXPECT_EQ(value_or_throw(read(with("/post_processor", nullptr))).encode("ab", true), Ids{2});
  EXPECT_EQ(value_or_throw(read(with("/post_processor", {{"type", "ByteLevel"}}))).encode("ab", true),
            Ids{2});
  EXPECT_EQ(read(with("/added_tokens", nullptr)).error().message,
            "tokenizer.json: special token 4 is not in the vocabulary");
}

TEST(TokenizerJson, GapsOfIdsHaveNoToken) {
  const Tokenizer tokenizer = value_or_throw(read(with("/model/vocab/zz", 10)));
  EXPECT_EQ(tokenizer.vocab_size(), 11);
  EXPECT_EQ(tokenizer.token(8), "");
  EXPECT_EQ(tokenizer.decode(Ids{0, 8, 1}, true), "ab");
}

TEST(TokenizerJson, SaysWhatIsWrong) {
  struct Case {
    std::string pointer;
    Json value;
    std::string message;
  };
  const Case cases[] = {
      {"/model", nullptr, "tokenizer.json: tokenizer.model is missing"},
      {"/model", 3, "tokenizer.model: expected an object"},
      {"/model/type", "Unigram", "tokenizer.json: model.type is \"Unigram\"; expected \"BPE\""},
      {"/model/type", "WordPiece", "tokenizer.json: model.type is \"WordPiece\"; expected \"BPE\""},
      {"/model/vocab", nullptr, "tokenizer.json: model.vocab is missing"},
      {"/model/vocab", Json::array({"a"}), "model.vocab: expected an object"},
      {"/model/vocab/b", 0, "id 0 belongs to both \"a\" and \"b\""},
      {"/model/vocab/b", -1, "model.vocab[\"b\"]: token id -1 is not in [0, 4194304)"},
      {"/model/vocab/b", 1u << 31, "is not in [0, 4194304)"},
      {"/model/vocab/b", 18446744073709551615u, "is not in [0, 4194304)"},
      {"/model/vocab/b", 1.5, "model.vocab[\"b\"]: expected a token id"},
      {"/model/merges", nullptr, "tokenizer.json: model.merges is missing"},
      {"/model/merges", Json::array({"a c"}),
       "model.merges[0]: \"a c\" names \"c\", which the vocabulary lacks"},
      {"/model/merges", Json::array({"b a"}), "names \"ba\", which the vocabulary lacks"},
      {"/model/merges", Json::array({"ab"}),
       "model.merges: expected two tokens with a space between, got \"ab\""},
      {"/model/merges", Json::array({"a b a"}), "expected two tokens"},
      {"/model/merges", Json::array({Json::array({"a", "b", "a"})}), "model.merges: expected two tokens"},
      {"/model/unk_token", "<unk>", "model.unk_token: the vocabulary lacks \"<unk>\""},
      {"/model/byte_fallback", true, "the model is not byte-level BPE"},
      {"/model/dropout", 0.1, "model.dropout is not supported"},
      {"/model/continuing_subword_prefix", "##", "model.continuing_subword_prefix is not supported"},
      {"/model/ignore_merges", "yes", "model.ignore_merges: expected true or false"},
      {"/pre_tokenizer", nullptr, "tokenizer.json: tokenizer.pre_tokenizer is missing"},
      {"/pre_tokenizer/type", "Metaspace", "tokenizer.json: pre_tokenizer.type is \"Metaspace\""},
      {"/normalizer", {{"type", "Prepend"}}, "tokenizer.json: normalizer.type is \"Prepend\""},
      {"/decoder/type", "Metaspace", "tokenizer.json: decoder.type is \"Metaspace\"; expected ByteLevel"},
      {"/added_tokens/0/id", nullptr, "tokenizer.json: added_tokens[0].id is missing"},
      {"/added_tokens/0/id", 1 << 22, "token id 4194304 is not in"},
      {"/added_tokens/0/content", 7, "added_tokens[0].content: expected a string"},
      {"/added_tokens/1", "x", "added_tokens[1]: expected an object"},
      {"/added_tokens/1/special", "x", "added_tokens[1].special: expected true or false"},
      {"/post_processor/type", "BertProcessing",
       "post_processor.type is \"BertProcessing\"; expected ByteLevel"},
      {"/post_processor/single/0", {{"Token", 1}}, "post_processor.single.SpecialToken is missing"},
      {"/post_processor/special_tokens/<s>", nullptr, "post_processor.special_tokens.<s> is missing"},
      {"/post_processor/special_tokens/<s>/ids", Json::array({99}),
       "special token 99 is not in the vocabulary"},
  };
  for (const Case& c : cases) {
    const auto tokenizer = read(with(c.pointer, c.value));
    ASSERT_FALSE(tokenizer) << c.pointer << " = " << c.value;
    EXPECT_THAT(tokenizer.error().message, testing::StartsWith("tokenizer.json: "));
    EXPECT_THAT(tokenizer.error().message, testing::HasSubstr(c.message));
  }
}

TEST(TokenizerJson, EveryTruncationIsAnErrorThatNamesTheFile) {
  const std::string whole = with("", {}).dump();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto tokenizer = Tokenizer::from_json(whole.substr(0, size), "tokenizer.json");
    ASSERT_FALSE(tokenizer) << size;
    EXPECT_THAT(tokenizer.error().message, testing::StartsWith("tokenizer.json: not valid JSON"));
  }
}

}  // namespace
}  // namespace nereus::text
