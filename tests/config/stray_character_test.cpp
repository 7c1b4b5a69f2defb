#include "nereus/config/stray_character.h"

#include <gtest/gtest.h>

#include <string>

namespace nereus::config {
namespace {

TEST(StrayCharacter, IsFoundOutsideQuotesAndComments) {
  struct Case {
    std::string text;
    size_t line;
  };
  const Case cases[] = {
      {"", 0},
      {"\xef\xbb\xbf"
       "a = 1\r\n\t# é\n",
       0},  // a byte order mark
      {"a = \"é \\\" é\" # é\n\"é\" = 'é\\'\n", 0},
      {"a = \"\"\"é\n\"é\" \\\"\"\" é\n\"\"\"\nb = '''é\n' é''' \n", 0},
      {"a = 1\né = 2\n", 2},
      {"a = \"é\" é\n", 1},
      {"a = 'é\\' é\n", 1},  // no escapes in single quotes
      {"# é\n\n[\x01]\n", 3},
      {"a = \"\"\"\n\n\"\"\"\x7f", 3},
      {"a = \"open\né\n", 2},
      {"a = 0_\"\"\"é\n", 1},  // no string in the midst of a number
      {"a = \"\"\"b\"\"\"\"é\n", 1},
      {"a = '''b'''''\n'é' = '''''''\n# é", 0},
      {"a = \"\"\"b\\\n  \n é\"\"\"\n", 3},
      {"a = \"b\\é\"\n", 1},
      {"a = \"\"\"b\\\n  c é\\\\é\"\"\"\n", 0},
      {"a = [1, 2.\"é\"]\n", 1},
      {"a = [\n1{\"é\"}]\n", 2},
      {"a = 1=\"é\"\n", 1},
      {"a = {b = [1], c = x'é'}\n", 1},
      {"a = [{b.'é' = 1, c.'é' = ''},\n {\"é\" = 1}]\n\"é\".'é' = 1\n", 0},
      {"a = [\n  \"é\", # é\n 'é'\n]\nb.\"é\" = {\"é\" = 'é', \"ö\" = \t\"ü\"}\r\n[\"é\"]\n", 0},
      {std::string("a\0", 2), 1},
  };
  for (const auto& c : cases) EXPECT_EQ(line_of_stray_character(c.text), c.line) << c.text;
}

}  // namespace
}  // namespace nereus::config
