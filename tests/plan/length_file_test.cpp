#include "nereus/plan/length_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/scratch.h"

namespace nereus::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadLengths, OneALine) {
  const Scratch scratch;
  const auto read = read_lengths(scratch.write("l.txt", "# observed\n300\n100\r\n\n200 \n0\n9000"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(300, 100, 200, 0, 9000));
}

TEST(ReadLengths, BadFilesNameTheLine) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {{"100\n2x0\n", "l.txt:2: expected a number of tokens, found \"2x0\""},
                        {"\n-5\n", "l.txt:2: expected a number of tokens, found \"-5\""},
                        {"1.5\n", "l.txt:1: expected"},
                        {"99999999999\n", "l.txt:1: expected"},
                        {"# none\n", "l.txt: expected one number of tokens a line, found none"}};
  const Scratch scratch;
  for (const auto& c : cases)
    EXPECT_THAT(read_lengths(scratch.write("l.txt", c.text)).error().message, HasSubstr(c.message));
  EXPECT_THAT(read_lengths("/nowhere/l.txt").error().message, HasSubstr("/nowhere/l.txt: cannot open"));
}

TEST(FitLengths, ScalesCutsAndSorts) {
  struct Case {
    std::vector<int32_t> lengths;
    std::optional<double> mean;
    int64_t limit;
    std::vector<int32_t> fitted;
  };
  const Case cases[] = {{{300, 100, 5000}, std::nullopt, 4096, {100, 300, 4096}},
                        {{300, 100, 200}, 20.0, 4096, {10, 20, 30}},
                        {{0, 10}, std::nullopt, 100, {1, 10}},
                        {{0, 0}, 50.0, 100, {1, 1}},  // nothing to scale
                        {{100, 300}, 400.0, 500, {200, 500}}};
  for (auto c : cases) {
    fit_lengths(c.lengths, c.mean, c.limit);
    EXPECT_EQ(c.lengths, c.fitted);
  }
}

}  // namespace
}  // namespace nereus::plan
