#include "nereus/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace nereus::text {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const fs::path kShared = fs::path(NEREUS_SOURCE_DIR) / "../shared/data/templates";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<OrderedJson> read_lines(const fs::path& path) {
  std::vector<OrderedJson> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    rows.push_back(value_or_throw(parse_ordered_json(line, path.string())));
  }
  return rows;
}

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

Result<std::string> render(std::string_view source, const OrderedJson& variables = kNone,
                           const RenderOptions& options = {}) {
  const auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return pass(parsed);
  return parsed->render(variables, options);
}

std::string error_of(std::string_view source, const OrderedJson& variables = kNone,
                     const RenderOptions& options = {}) {
  const auto text = render(source, variables, options);
  return text ? "no error, but: " + *text : text.error().message;
}

OrderedJson chat(std::initializer_list<std::pair<const char*, const char*>> turns) {
  OrderedJson variables{{"messages", OrderedJson::array()}};
  for (const auto& [role, content] : turns)
    variables["messages"].push_back({{"role", role}, {"content", content}});
  return variables;
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
  const auto rows = read_lines(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/templates/snippets.jsonl");
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

struct BadTemplate {
  const char* source;
  const char* error;
};

class ChatTemplateErrors : public testing::TestWithParam<BadTemplate> {};

TEST_P(ChatTemplateErrors, NameTheLine) {
  const auto parsed = ChatTemplate::parse(GetParam().source, "chat.jinja");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, std::string("chat.jinja:") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, ChatTemplateErrors,
    testing::Values(BadTemplate{"a\n{% if x %}\nb", "2: 'if' isn't closed: expected 'endif'"},
                    BadTemplate{"{% for x in y %}\n{% else %}", "2: 'for' isn't closed: expected 'endfor'"},
                    BadTemplate{"{% macro m() %}", "1: 'macro' isn't closed: expected 'endmacro'"},
                    BadTemplate{"\n\n{{ x", "3: expected '}}', found the end of the template"},
                    BadTemplate{"\n{% if x", "2: expected '%}', found the end of the template"},
                    BadTemplate{"\n{# x", "2: a comment isn't closed with '#}'"},
                    BadTemplate{"{% raw %}\n", "1: a raw block isn't closed with '{% endraw %}'"},
                    BadTemplate{"{{ 'x }}", "1: a string isn't closed"},
                    BadTemplate{"{{ x|nope }}", "1: No filter named 'nope'."},
                    BadTemplate{"x\n{{ x is nope }}", "2: No test named 'nope'."},
                    BadTemplate{"{% nope %}", "1: unknown or misplaced tag 'nope'"},
                    BadTemplate{"{% endif %}", "1: unknown or misplaced tag 'endif'"},
                    BadTemplate{"{% if x %}{% endfor %}", "1: unknown or misplaced tag 'endfor'"},
                    BadTemplate{"{% for x of y %}{% endfor %}", "1: expected 'in', found 'of'"},
                    BadTemplate{"{% break %}", "1: 'break' outside of a loop"},
                    BadTemplate{"{% for x in y %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
                                "1: 'continue' outside of a loop"},
                    BadTemplate{"{{ (1 }}", "1: unexpected '}', expected ')'"},
                    BadTemplate{"{{ 1) }}", "1: unexpected ')'"},
                    BadTemplate{"{{ 1 2 }}", "1: expected '}}', found '2'"},
                    BadTemplate{"{{ }}", "1: expected an expression, found '}}'"},
                    BadTemplate{"{{ a ? b }}", "1: unexpected character '?'"},
                    BadTemplate{"{{ a[] }}", "1: expected an index between '[' and ']'"},
                    BadTemplate{"{{ f(a=1, 2) }}", "1: a positional argument follows a named one"},
                    BadTemplate{"{{ '\\ud800' }}", "1: a string has a broken escape sequence"},
                    BadTemplate{"{{ 9223372036854775808 }}",
                                "1: '9223372036854775808' is no integer of 64 bits"},
                    BadTemplate{"{% set true = 1 %}", "1: can't assign to 'true'"},
                    BadTemplate{"{% macro m(a=1, b) %}{% endmacro %}",
                                "1: parameter 'b' needs a default as those before it have"},
                    BadTemplate{"{% call x %}{% endcall %}", "1: a call block needs a call"}));

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

// Nothing that a template does hangs the process, exhausts its memory or its stack.
TEST(ChatTemplate, HostileTemplatesAreStopped) {
  RenderOptions options;
  options.max_work = 3'000'000;  // a tenth of the default, for the time of the test
  for (const char* source : {
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% set ns = namespace(x='ab') %}{% for a in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
           "{{ 'x' * 100000000000 }}",
           "{{ [0] * 4000000000000000000 }}",
           "{{ range(1000000) }}",
           "{{ 'x'.ljust(1000000000) }}",
           "{{ '%999999999d' % 1 }}",
           "{{ '{:99999999999999999999}'.format(1) }}",
           "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}",
           "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           "{% macro m() %}{{ [[[[m()]]]] }}{% endmacro %}{{ m() }}",
           "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
           "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}",
           "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor "
           "%}{{ ns.x }}",
           "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
           "{{ ns.x == ns.x|list }}",
           "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
           "{% set ns = namespace() %}{% for i in range(9999) %}{% set ns.x = [ns.x].index %}{% endfor %}",
           "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% for j in [ns.x] %}{% set ns.x = "
           "loop.cycle %}"
           "{% endfor %}{% endfor %}",
           "{{ 'a'.join(['b' * 1000000] * 1000000) }}",
           "{{ 2 ** 64 }}",
       }) {
    EXPECT_FALSE(render(source, kNone, options)) << source;
  }
}

TEST(ChatTemplate, OutputIsBounded) {
  RenderOptions options;
  options.max_output = 10;
  EXPECT_EQ(value_or_throw(render("{{ 'x' * 10 }}", kNone, options)), "xxxxxxxxxx");
  EXPECT_THAT(error_of("{{ 'x' * 11 }}", kNone, options), HasSubstr("more than 10 bytes"));
}

TEST(ChatTemplate, WorkIsBounded) {
  RenderOptions options;
  options.max_work = 1000;
  EXPECT_TRUE(render("{% for i in range(20) %}{{ i }}{% endfor %}", kNone, options));
  EXPECT_THAT(error_of("{% for i in range(900) %}{{ i }}{% endfor %}", kNone, options),
              HasSubstr("too much work"));
}

// Values that refer to themselves are freed with the run; the sanitizer sees it.
TEST(ChatTemplate, SelfReferencesDoNotLeak) {
  for (const char* source : {
           "{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.list = [ns] %}",
           "{% macro m() %}{% endmacro %}{% set ns = namespace(m=m) %}",
           "{% for i in [1] %}{% macro m() %}{{ loop }}{% endmacro %}{% endfor %}",
           "{% set ns = namespace() %}{% for i in [1] %}{% set ns.l = loop %}{% endfor %}"
           "{% if ns.l.changed(ns.l, ns) %}{% endif %}",
           "{% for i in [1] recursive %}{% set l = loop %}{% macro m() %}{{ l }}{% endmacro %}{% endfor %}",
       }) {
    EXPECT_TRUE(render(source)) << source;
  }
}

TEST(ChatTemplate, DeepNestingIsRefused) {
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{
           {"{{ " + std::string(50000, '(') + "1", std::string(50000, ')') + " }}"},
           {"{{ " + std::string(50000, '[') + "1", std::string(50000, ']') + " }}"},
           {"{{ " + std::string(50000, '-') + "1", " }}"},
       }) {
    EXPECT_FALSE(render(open + close));
  }
  const auto repeat = [](std::string_view piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
  };
  for (const std::string& source :
       {"{{ 1" + repeat("+1", 50000) + " }}", "{{ x" + repeat(".x", 50000) + " }}",
        "{{ x" + repeat("|abs", 50000) + " }}", "{{ " + repeat("not ", 50000) + "1 }}",
        "{{ x" + repeat(" if x else x", 50000) + " }}", repeat("{% if x %}", 50000),
        "{% set " + repeat("(", 50000) + "x = 1 %}", "{{ x" + repeat(" and x", 50000) + " }}"}) {
    EXPECT_FALSE(render(source)) << source.substr(0, 20);
  }
  EXPECT_EQ(value_or_throw(render("{{ '1'" + repeat(" ~ 1", 1000) + " }}")), repeat("1", 1001));
}

/// Cuts, doubles, swaps and replaces pieces of templates: whatever comes out must end in text or an error.
TEST(ChatTemplate, RandomEditsNeverCrash) {
  std::vector<std::string> sources;
  for (const auto& row : read_lines(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/templates/snippets.jsonl")) {
    if (row["template"] != "") sources.push_back(row["template"]);
  }
  const OrderedJson variables = chat({{"system", "s"}, {"user", "a"}, {"assistant", "b"}});
  RenderOptions options;
  options.max_work = 20000;
  uint64_t state = 1;
  const auto below = [&](size_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33) % bound;
  };
  int rendered = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = sources[below(sources.size())];
    for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::string& other = sources[below(sources.size())];
      const size_t at = below(text.size()), from = below(other.size()), count = 1 + below(12);
      if (below(3) == 0)
        text.erase(at, count);
      else if (below(2) == 0)
        text.insert(at, other.substr(from, count));
      else
        text.replace(at, std::min(count, text.size() - at), other.substr(from, count));
    }
    rendered += render(text, variables, options) ? 1 : 0;
  }
  EXPECT_GT(rendered, 1000);  // the edits leave enough templates whole to be worth running
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
