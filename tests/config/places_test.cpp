#include "nereus/config/places.h"

#include <gtest/gtest.h>

namespace nereus::config {
namespace {

TEST(Places, OfKeysTablesAndTheDocument) {
  Places places("t.toml");
  places.add("a.x", "t.toml:1");
  places.add("b.1.x", "t.toml:5");
  places.add("b.1.y", "t.toml:6");
  places.add("a.x", "--a.x");
  EXPECT_EQ(places.of("a.x"), "--a.x");  // the later one holds
  EXPECT_EQ(places.of("b.1"), "t.toml:5");
  EXPECT_EQ(places.of("b.1.z"), "t.toml");
  EXPECT_EQ(places.of("b.10"), "t.toml");
  EXPECT_EQ(places.of("c"), "t.toml");
}

}  // namespace
}  // namespace nereus::config
