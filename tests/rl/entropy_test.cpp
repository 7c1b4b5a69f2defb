#include "nereus/rl/entropy.h"

#include <gtest/gtest.h>

namespace nereus::rl {
namespace {

TEST(EntropyControl, MovesTowardsTheTarget) {
  const EntropyControlOptions options{.target = 1.0, .step = 0.005, .min = 0.0, .max = 0.01};
  EntropyControl control{.coefficient = 0.002};
  EXPECT_EQ(applied_coefficient(control, options), 0.0);  // nothing measured yet
  update(control, 0.5, options);
  EXPECT_NEAR(applied_coefficient(control, options), 0.007, 1e-12);
  update(control, 1.0, options);
  EXPECT_NEAR(applied_coefficient(control, options), 0.01, 1e-12);
  update(control, 1.1, options);
  EXPECT_EQ(applied_coefficient(control, options), 0.0);  // above the target it does not act
  EXPECT_NEAR(control.coefficient, 0.005, 1e-12);
  update(control, 1.1, options);
  update(control, 1.1, options);
  EXPECT_EQ(control.coefficient, 0.0);
}

TEST(EntropyControl, RefusesByKey) {
  EXPECT_TRUE(validate(EntropyControlOptions{}));
  EXPECT_FALSE(validate(EntropyControlOptions{.step = 0}));
  EXPECT_FALSE(validate(EntropyControlOptions{.min = 2}));
  EXPECT_FALSE(validate(EntropyControlOptions{.target = -1}));
}

TEST(EntropyThreshold, InterpolatesTheQuantile) {
  EXPECT_EQ(entropy_threshold({4, 1, 3, 2, 5}, 1.0), 1.0);
  EXPECT_EQ(entropy_threshold({4, 1, 3, 2, 5}, 0.0), 5.0);
  EXPECT_EQ(entropy_threshold({4, 1, 3, 2, 5}, 0.5), 3.0);
  EXPECT_NEAR(entropy_threshold({4, 1, 3, 2, 5}, 0.2), 4.2, 1e-12);
  EXPECT_EQ(entropy_threshold({}, 0.2), 0.0);
}

}  // namespace
}  // namespace nereus::rl
