#include "nereus/config/nearest_name.h"

#include <gtest/gtest.h>

namespace nereus::config {
namespace {

TEST(NearestName, FewestEditsWhereTheyAreFew) {
  const std::vector<std::string> known = {"train.learning_rate", "train.steps", "run.seed", "H100", "H200"};
  struct Case {
    const char* name;
    std::optional<std::string> nearest;
  };
  const Case cases[] = {
      {"train.learning_rat", "train.learning_rate"},
      {"run.learning_rate", "train.learning_rate"},  // right but for its section
      {"learning_rate", "train.learning_rate"},
      {"run.sede", "run.seed"},
      {"h100", "H100"},
      {"H20", "H200"},
      {"zzz.qqqqqq", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(nearest_name(c.name, known), c.nearest) << c.name;
  EXPECT_EQ(nearest_name("a", {}), std::nullopt);
}

}  // namespace
}  // namespace nereus::config
