#include "nereus/text/jinja_parser.h"

#include <gtest/gtest.h>

#include "tests/text/render.h"

namespace nereus::text {
namespace {

struct BadTemplate {
  const char* source;
  const char* error;
};

class BadTemplates : public testing::TestWithParam<BadTemplate> {};

TEST_P(BadTemplates, NameTheLine) {
  const auto parsed = ChatTemplate::parse(GetParam().source, "chat.jinja");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, std::string("chat.jinja:") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTemplates,
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

TEST(JinjaParser, DeepNestingIsRefused) {
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

}  // namespace
}  // namespace nereus::text
