#include "nereus/plan/text_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nereus::plan {
namespace {

TEST(TextTable, AlignsAndLeavesEmptyColumnsOut) {
  TextTable table({"name", "empty", "size"}, 1);
  EXPECT_EQ(table.text(), "");
  table.add({"a", "", "12"});
  table.add({"longer", "", "3"});
  EXPECT_EQ(table.text(),
            "  name    size\n"
            "  a         12\n"
            "  longer     3\n");
  EXPECT_FALSE(table.used(1));
}

TEST(ShortNumber, ThreeDigitsOrWholeNumbers) {
  struct Case {
    double value;
    const char* text;
  };
  const Case cases[] = {{0, "0.00"},         {8.346, "8.35"},   {9.996, "10.0"},     {24.14, "24.1"},
                        {99.96, "100"},      {145.4, "145"},    {12345.6, "12,346"}, {-2.5, "-2.50"},
                        {std::nan(""), "?"}, {1e6, "1,000,000"}};
  for (const auto& c : cases) EXPECT_EQ(short_number(c.value), c.text);
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(Ranges, JoinNeighbours) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({4}), "4");
  EXPECT_EQ(ranges({0, 1, 2, 3, 8, 10, 11}), "0-3, 8, 10-11");
  EXPECT_EQ(ranges({0, 2, 4, 6, 7}), "0-6 by 2, 7");
  EXPECT_EQ(ranges({0, 4, 5, 6}), "0, 4-6");
  EXPECT_EQ(ranges({1, 5}), "1, 5");
}

TEST(ShortRanges, AreCutAtAComma) {
  EXPECT_EQ(short_ranges({0, 1, 2}), "0-2");
  EXPECT_EQ(short_ranges({0, 1, 4, 5, 64, 65, 68, 69}, 12), "0-1, 4-5, ... 8 in all");
}

}  // namespace
}  // namespace nereus::plan
