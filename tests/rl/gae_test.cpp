#include "nereus/rl/gae.h"

#include <gtest/gtest.h>

#include "tests/rl/golden.h"

namespace nereus::rl {
namespace {

void expect_near(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
}

// The reference sums errors over the model's own tokens only: tool output passes value and advantage through.
TEST(Gae, EqualsReference) {
  const Json cases = golden().at("gae");
  ASSERT_EQ(cases.size(), 4U);
  for (const Json& test : cases) {
    const auto floats = [&](const char* key) { return test.at(key).get<std::vector<float>>(); };
    const auto lengths = test.at("lengths").get<std::vector<int64_t>>();
    GaeOptions options{test.at("gamma").get<double>(), test.at("lambda").get<double>(), false};
    const Gae plain = gae(floats("rewards"), floats("values"), floats("mask"), lengths, options);
    expect_near(plain.advantages, test.at("advantages").get<std::vector<double>>());
    expect_near(plain.returns, test.at("returns").get<std::vector<double>>());
    options.whiten = true;
    const Gae whitened = gae(floats("rewards"), floats("values"), floats("mask"), lengths, options);
    expect_near(whitened.advantages, test.at("whitened").get<std::vector<double>>());
    EXPECT_EQ(whitened.returns, plain.returns);
  }
}

}  // namespace
}  // namespace nereus::rl
