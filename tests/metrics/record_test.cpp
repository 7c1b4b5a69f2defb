#include "nereus/metrics/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nereus::metrics {
namespace {

TEST(Record, KeepsTheOrderAndReplaces) {
  Record record;
  record.set("reward", 0.5);
  record.set("kl", 0.1);
  record.set("reward", 0.75);
  ASSERT_EQ(record.entries().size(), 2U);
  EXPECT_EQ(record.entries()[0].first, "reward");
  EXPECT_EQ(record.get("reward"), 0.75);
  EXPECT_EQ(record.get("entropy"), std::nullopt);
  EXPECT_EQ(record.json(3).dump(), R"({"step":3,"reward":0.75,"kl":0.1})");
}

TEST(Record, MeanMinMaxOfASummary) {
  Summary summary;
  summary.add(1);
  summary.add(3);
  Record record;
  record.set_mean_min_max("sampling/importance_ratio/", summary);
  record.set_mean_min_max("clip_ratio/low", summary);
  EXPECT_EQ(record.get("sampling/importance_ratio/mean"), 2.0);
  EXPECT_EQ(record.get("sampling/importance_ratio/max"), 3.0);
  EXPECT_EQ(record.get("clip_ratio/low_min"), 1.0);
}

TEST(Record, WhatIsNotFiniteIsNullOnDisk) {
  Record record;
  record.set("kl", std::numeric_limits<double>::quiet_NaN());
  record.set("ratio", std::numeric_limits<double>::infinity());
  EXPECT_EQ(record.json(1).dump(), R"({"step":1,"kl":null,"ratio":null})");
}

TEST(Record, RoundTripIsExact) {
  Record record;
  for (const double value : {0.1, 1.0 / 3, 1e-300, 123456789012345678.0, -0.0})
    record.set(fmt::format("m{}", value), value);
  const auto line = parse_ordered_json(record.json(7).dump(), "line");
  ASSERT_TRUE(line);
  const Record back = Record::from_json(*line);
  ASSERT_EQ(back.entries().size(), record.entries().size());
  for (size_t i = 0; i < back.entries().size(); ++i) EXPECT_EQ(back.entries()[i], record.entries()[i]);
}

TEST(Record, FromJsonTakesNumbersAndNulls) {
  const Record record = Record::from_json({{"step", 4}, {"kl", nullptr}, {"note", "text"}, {"lr", 1}});
  ASSERT_EQ(record.entries().size(), 2U);
  EXPECT_TRUE(std::isnan(*record.get("kl")));
  EXPECT_EQ(record.get("lr"), 1.0);
}

}  // namespace
}  // namespace nereus::metrics
