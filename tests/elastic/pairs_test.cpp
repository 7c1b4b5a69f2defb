// Random pairs of layouts, executed on real bytes in random orders.
#include <gtest/gtest.h>

#include "tests/elastic/world.h"

namespace nereus::elastic {
namespace {

TEST(Pairs, Any) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    const auto cluster = test::random_cluster(dice);
    const auto job = test::random_job(dice);
    const auto from = test::random_plan(cluster, job, dice), to = test::random_plan(cluster, job, dice);
    TransitionOptions options;
    options.messages_in_flight = 0;
    options.bundle_bytes = dice.from(1, 500);
    const auto there = make_transition(cluster, job, from, to, options);
    ASSERT_TRUE(there) << seed << ": " << there.error().message;
    test::World world(cluster, job, from);
    ASSERT_EQ(world.run(*there, dice), "") << seed << test::text(from) << "\nto" << test::text(there->to);
    ASSERT_EQ(world.compare(there->to), "") << seed;
  }
}

}  // namespace
}  // namespace nereus::elastic
