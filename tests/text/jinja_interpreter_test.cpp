#include "nereus/text/jinja_interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/text/render.h"

namespace nereus::text {
namespace {

using testing::HasSubstr;

const OrderedJson kNone = OrderedJson::object();

// Nothing that a template does hangs the process, exhausts its memory or its stack.
TEST(JinjaInterpreter, HostileTemplatesAreStopped) {
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
           "{{ [1] | slice(9223372036854775807) }}",
           "{{ [1] | batch(9223372036854775807, 0) }}",
           "{{ '%*d' % (-9223372036854775807 - 1, 1) }}",
           "{{ 9223372036854775807 | round(-19) }}",
           "{{ ([0] * 100000) | tojson(separators=('x' * 1000000, ':')) }}",
           "{{ -(-9223372036854775807 - 1) }}",
           "{{ (-9223372036854775807 - 1) // -1 }}",

       }) {
    EXPECT_FALSE(render(source, kNone, options)) << source;
  }
}

TEST(JinjaInterpreter, OutputIsBounded) {
  RenderOptions options;
  options.max_output = 10;
  EXPECT_EQ(value_or_throw(render("{{ 'x' * 10 }}", kNone, options)), "xxxxxxxxxx");
  EXPECT_THAT(error_of("{{ 'x' * 11 }}", kNone, options), HasSubstr("more than 10 bytes"));
}

TEST(JinjaInterpreter, WorkIsBounded) {
  RenderOptions options;
  options.max_work = 1000;
  EXPECT_TRUE(render("{% for i in range(20) %}{{ i }}{% endfor %}", kNone, options));
  EXPECT_THAT(error_of("{% for i in range(900) %}{{ i }}{% endfor %}", kNone, options),
              HasSubstr("too much work"));
}

// Values that refer to themselves are freed with the run; the sanitizer sees it.
TEST(JinjaInterpreter, SelfReferencesDoNotLeak) {
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

/// Cuts, doubles, swaps and replaces pieces of templates: whatever comes out must end in text or an error.
TEST(JinjaInterpreter, RandomEditsNeverCrash) {
  std::vector<std::string> sources;
  for (const auto& row : snippets()) {
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

}  // namespace
}  // namespace nereus::text
