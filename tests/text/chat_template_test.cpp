#include "nereus/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/text/render.h"

namespace nereus::text {
namespace {

using testing::EndsWith;
using testing::StartsWith;

const fs::path kShared = fs::path(NEREUS_SOURCE_DIR) / "../shared/data/templates";

const OrderedJson kNone = OrderedJson::object();

/// 26 July 2024, noon: the day that the recorded renderings have.
RenderOptions fixed_day() {
  RenderOptions options;
  options.local_time = [] {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_hour = 12;
    time.tm_wday = 5;
    time.tm_yday = 207;
    return time;
  };
  return options;
}

// The templates of twelve models, against what Transformers' own environment renders.
TEST(ChatTemplate, RendersAsTransformersDoes) {
  if (!fs::exists(kShared / "expected.jsonl")) GTEST_SKIP() << "no " << kShared;
  const auto rows = read_lines(kShared / "expected.jsonl");
  ASSERT_EQ(rows.size(), 120U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row["template"].get<std::string>() + ", " + row["case"].get<std::string>());
    const auto parsed = ChatTemplate::parse(read(kShared / row["template"].get<std::string>()), "model");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto text = parsed->render(row["variables"], fixed_day());
    const auto& expected = row["expected"];
    if (expected.contains("text")) {
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_EQ(*text, expected["text"].get<std::string>());
    } else {
      const auto error = expected["error"].get<std::string>();  // "TemplateError: message"
      ASSERT_FALSE(text) << *text;
      EXPECT_THAT(text.error().message, StartsWith("model:"));
      EXPECT_THAT(text.error().message, EndsWith(error.substr(error.find(": "))));
    }
  }
}

// Small templates for every statement, filter, test, method and rule of whitespace; made by
// tests/golden/templates/make.py with Transformers' environment.
TEST(ChatTemplate, EqualsJinjaOnSnippets) {
  const auto rows = snippets();
  ASSERT_GT(rows.size(), 300U);
  for (const auto& row : rows) {
    SCOPED_TRACE(row["template"].get<std::string>());
    const auto text = render(row["template"].get<std::string>(), row["variables"], fixed_day());
    if (row.contains("text")) {
      EXPECT_TRUE(text) << text.error().message;
      EXPECT_EQ(text.value_or("no text"), row["text"].get<std::string>());
    } else {
      EXPECT_FALSE(text) << *text << "\nbut Jinja says " << row["error"];
    }
  }
}

TEST(ChatTemplate, RunTimeErrorsNameTheLine) {
  EXPECT_EQ(error_of("a\n{{ x.y }}"), "t:2: 'x' is undefined");
  EXPECT_EQ(error_of("{{ {}.x.y }}"), "t:1: 'dict object' has no attribute 'x'");
  EXPECT_EQ(error_of("{{ [1][4] + 1 }}"), "t:1: list object has no element 4");
  EXPECT_EQ(error_of("{% if true %}\n\n{{ raise_exception('Only ' ~ 2) }}{% endif %}"), "t:3: Only 2");
  EXPECT_EQ(error_of("{% for x in none %}{% endfor %}"), "t:1: 'NoneType' object is not iterable");
  EXPECT_EQ(error_of("{{\n'a' + 1 }}"), "t:2: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}"), "t:1: an integer needs more than 64 bits");
  EXPECT_EQ(error_of("{{ x|list }}", OrderedJson{{"x", 18446744073709551615U}}),
            "t:0: the integer 18446744073709551615 among the variables needs more than 64 bits");
  EXPECT_EQ(error_of("", OrderedJson::array()), "t:0: the variables of a template must be a JSON object");
  EXPECT_EQ(error_of("\xff"), "t: the template is not UTF-8");
}

TEST(ChatTemplate, ClockIsInjected) {
  EXPECT_EQ(value_or_throw(render("{{ strftime_now('%Y-%m-%d %d %b %Y %H:%M %A %j') }}", kNone, fixed_day())),
            "2024-07-26 26 Jul 2024 12:00 Friday 208");
  EXPECT_EQ(value_or_throw(render("{{ strftime_now('%Y')|length }}")), "4");
}

TEST(ChatTemplate, IsSharedBetweenThreads) {
  const auto parsed =
      value_or_throw(ChatTemplate::parse("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = "
                                         "ns.n + 1 %}{{ m.content }}{% endfor %}{{ ns.n }}",
                                         "t"));
  const OrderedJson variables = chat({{"user", "a"}, {"assistant", "b"}});
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (auto& text : texts) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) text = value_or_throw(parsed.render(variables));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::Each("ab2"));
}

constexpr const char* kGrowing =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n{% endfor %}{% if add_generation_prompt "
    "%}<assistant>"
    "{% endif %}";
// Drops the reasoning of all answers but the last, as many reasoning models' templates do.
constexpr const char* kForgetting =
    "{% for m in messages %}<{{ m.role }}>{{ m.content if loop.last else m.content.split('</think>')[-1] "
    "}}</>\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

// A chat template that is not prefix-preserving: detected, then forked or refused [trl 5109].
TEST(ChatTemplate, Fault28_TemplateThatRewritesEarlierTurnsIsDetected) {
  const OrderedJson two =
      chat({{"system", "s"}, {"user", "a"}, {"assistant", "<think>x</think>b"}, {"user", "c"}});
  const auto growing = value_or_throw(ChatTemplate::parse(kGrowing, "growing"));
  const auto forgetting = value_or_throw(ChatTemplate::parse(kForgetting, "forgetting"));
  EXPECT_TRUE(value_or_throw(prefix_preserving(growing, two)));
  EXPECT_FALSE(value_or_throw(prefix_preserving(forgetting, two)));
  // One turn alone has nothing to rewrite.
  EXPECT_TRUE(value_or_throw(
      prefix_preserving(forgetting, chat({{"user", "a"}, {"assistant", "<think>x</think>b"}}))));
  EXPECT_FALSE(prefix_preserving(growing, OrderedJson::object()));
  EXPECT_FALSE(
      prefix_preserving(value_or_throw(ChatTemplate::parse("{{ raise_exception('no') }}", "t")), two));
}

TEST(ChatTemplate, Fault28_OfRealModels) {
  if (!fs::exists(kShared)) GTEST_SKIP() << "no " << kShared;
  OrderedJson variables = chat({{"system", "s"},
                                {"user", "a"},
                                {"assistant", "<think>\nx\n</think>\n\nb"},
                                {"user", "c"},
                                {"assistant", "d"}});
  variables["bos_token"] = "<s>";
  variables["eos_token"] = "</s>";
  const auto preserving = [&](const char* file) {
    const auto parsed = value_or_throw(ChatTemplate::parse(read(kShared / file), file));
    return value_or_throw(prefix_preserving(parsed, variables, fixed_day()));
  };
  EXPECT_TRUE(preserving("Qwen-Qwen2.5-7B-Instruct.jinja"));
  EXPECT_TRUE(preserving("meta-llama-Llama-3.2-3B-Instruct.jinja"));
  EXPECT_FALSE(preserving("Qwen-Qwen3-0.6B.jinja"));                           // drops earlier reasoning
  EXPECT_FALSE(preserving("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja"));  // the same
}

// SmolLM2's own template, against Transformers' apply_chat_template.
TEST(ChatTemplate, SmolLm2EqualsTransformers) {
  const auto rows = read_lines(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/templates/smollm2.jsonl");
  ASSERT_GE(rows.size(), 8U);
  const auto parsed = value_or_throw(ChatTemplate::parse(rows[0]["template"].get<std::string>(), "SmolLM2"));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(value_or_throw(parsed.render(rows[i]["variables"])), rows[i]["text"].get<std::string>()) << i;
  }
}

}  // namespace
}  // namespace nereus::text
