#include "nereus/simulator/availability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace nereus::simulator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Reading> good(std::string_view text) {
  return value_or_throw(parse_availability(text, "t"));
}

TEST(Availability, Formats) {
  const auto three = ElementsAre(Reading{0, 5}, Reading{60, 4}, Reading{90, 6});
  EXPECT_THAT(good("2021-12-31, 23:59:30, 5\n2022-01-01, 00:00:30, 4\n2022-01-01, 00:01:00, 6\n"), three);
  EXPECT_THAT(good("[{\"Time\": 0, \"GPUs\": 5}, {\"Time\": 60, \"GPUs\": 4}, {\"Time\": 90, \"GPUs\": 6}]"),
              three);
  EXPECT_THAT(good("seconds,count\n0,5\n60,4\n90,6\n"), three);
  EXPECT_THAT(good("10,5\n70,4\n100,6\n"), three);  // the first reading is the start
  EXPECT_THAT(good("0,add,a\n0,add,b\n5000,remove,a\n9000,add,c\n"),
              ElementsAre(Reading{0, 2}, Reading{5, 1}, Reading{9, 2}));
}

TEST(Availability, RepeatsAreDropped) {
  EXPECT_THAT(good("0,5\n60,5\n90,6\n"), ElementsAre(Reading{0, 5}, Reading{90, 6}));
  // The last reading says how long the trace is.
  EXPECT_THAT(good("0,5\n60,6\n90,6\n120,6\n"), ElementsAre(Reading{0, 5}, Reading{60, 6}, Reading{120, 6}));
}

// Rows of a real trace go back in time: the reading counts from the latest time before it.
TEST(Availability, TimesThatRunBackwards) {
  EXPECT_THAT(good("2021-12-10, 13:07:45, 80\n2021-12-10, 13:09:45, 80\n2021-12-10, 13:08:45, 70\n"
                   "2021-12-10, 13:10:45, 60\n"),
              ElementsAre(Reading{0, 80}, Reading{120, 70}, Reading{180, 60}));
}

TEST(Availability, Bad) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "holds no readings"},
      {"a,b\n", "holds no readings"},
      {"0,5\n60,x\n", "t:2: expected \"SECONDS,COUNT\""},
      {"0,5\n60,-1\n", "t:2"},
      {"0,5,6,7\n", "t:1: expected"},
      {"2021-13-01, 00:00:00, 5\n", "t:1: expected \"YYYY-MM-DD, HH:MM:SS, count\""},
      {"2021-12-01, 00:00:00, 5.5\n", "t:1"},
      {"0,add,a\n1,add,a\n", "t:2: node a is added while it is there"},
      {"0,add,a\n1,remove,b\n", "t:2: node b is removed while it is not there"},
      {"0,add,a\n1,drop,a\n", "t:2: expected \"MILLISECONDS,add|remove,NODE\""},
      {"[{\"Time\": 0}]", "entry 0: expected"},
      {"[{\"Time\": 0, \"GPUs\": -1}]", "entry 0: expected"},
      {"[]", "holds no readings"},
      {"{}", "expected a list"},
      {"[1", "t"},
  };
  for (const auto& [text, message] : cases) {
    const auto result = parse_availability(text, "t");
    ASSERT_FALSE(result) << text;
    EXPECT_THAT(result.error().message, HasSubstr(message)) << text;
  }
  EXPECT_THAT(read_availability("/no/such/trace").error().message, HasSubstr("/no/such/trace"));
}

TEST(Availability, WholeMachines) {
  EXPECT_THAT(whole_machines({{0, 55}, {10, 54}, {20, 47}, {30, 100}}, 8, 8),
              ElementsAre(Reading{0, 6}, Reading{20, 5}, Reading{30, 8}));
}

TEST(Availability, GoesBackAndForthForEver) {
  const Availability trace({{0, 4}, {10, 2}, {30, 3}, {40, 3}});
  const std::vector<std::pair<double, int32_t>> at{{0, 4},  {9, 4},  {10, 2}, {29, 2}, {35, 3}, {45, 3},
                                                   {51, 2}, {69, 2}, {71, 4}, {85, 4}, {91, 2}};
  for (const auto& [time, count] : at) EXPECT_EQ(trace.count(time), count) << time;
  std::vector<double> changes;
  for (double time = 0; time < 130; time = trace.next_change(time)) changes.push_back(time);
  EXPECT_THAT(changes, ElementsAre(0, 10, 30, 50, 70, 90, 110));
  EXPECT_TRUE(std::isinf(Availability({{0, 4}}).next_change(5)));
  // Without a reading that ends it, the last lasts as long as the others did on average.
  EXPECT_EQ(Availability({{0, 4}, {100, 2}}).count(150), 2);
  EXPECT_EQ(Availability({{0, 4}, {100, 2}}).next_change(100), 300);
}

TEST(Availability, GeneratedStaysInBounds) {
  const auto readings = generate_availability({3, 9, 600, 86400}, 1);
  EXPECT_GT(readings.size(), 50U);
  for (const auto& reading : readings) {
    EXPECT_GE(reading.count, 3);
    EXPECT_LE(reading.count, 9);
  }
  EXPECT_EQ(readings, generate_availability({3, 9, 600, 86400}, 1));
  EXPECT_NE(readings, generate_availability({3, 9, 600, 86400}, 2));
}

TEST(Availability, RealTraces) {
  const std::filesystem::path folder =
      std::filesystem::path(NEREUS_SOURCE_DIR) / "../shared/data/traces/gpu-availability";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is missing";
  struct Case {
    const char* file;
    int32_t least, most;
    double hours;
  };
  for (const auto& [file, least, most, hours] :
       {Case{"bamboo-gcp-a100x1-east1b.txt", 17, 64, 27}, Case{"bamboo-gcp-v100x1-east1c.txt", 30, 80, 24},
        Case{"sailor-a100-16.json", 7, 14, 3.6}}) {
    const auto readings = value_or_throw(read_availability(folder / file));
    const auto [low, high] = std::ranges::minmax_element(readings, {}, &Reading::count);
    EXPECT_EQ(low->count, least) << file;
    EXPECT_EQ(high->count, most) << file;
    EXPECT_LE(readings.back().time / 3600, hours + 1) << file;
    EXPECT_TRUE(std::ranges::is_sorted(readings, {}, &Reading::time)) << file;
  }
  const auto spot = value_or_throw(read_availability(folder / "bamboo-p3.csv"));
  EXPECT_EQ(std::ranges::max_element(spot, {}, &Reading::count)->count, 32);
}

}  // namespace
}  // namespace nereus::simulator
