#include "nereus/simulator/decoding.h"

#include <gtest/gtest.h>

#include "nereus/base/random.h"

namespace nereus::simulator {
namespace {

/// Iterations of one second, prompts free.
DecodingReplica counting(double kv_tokens) {
  return {kv_tokens, 1, [](double, double) { return 1.0; }, [](double) { return 0.0; }};
}

TEST(Decoding, LongestSequenceDecidesWhereAllFit) {
  const std::vector<Request> requests{{10, 5}, {10, 50}, {10, 20}};
  const auto result = decode(counting(1e6), requests);
  EXPECT_EQ(result.iterations, 50);
  EXPECT_EQ(result.seconds, 50);
  EXPECT_EQ(result.preempted, 0);
  EXPECT_NEAR(result.batch, (5.0 + 50 + 20) / 50, 1e-9);
}

TEST(Decoding, IterationsSeeTheContextGrow) {
  // Time is the context: prompts of 10 and 20, responses of 2 and 4.
  DecodingReplica replica = counting(1e6);
  replica.iteration = [](double, double context) { return context; };
  // Both: 30, 32; the second alone: 22, 23.
  EXPECT_NEAR(decode(replica, std::vector<Request>{{10, 2}, {20, 4}}).seconds, 30 + 32 + 22 + 23, 1e-9);
}

TEST(Decoding, BlocksOfIterationsAreExactForLinearTime) {
  RandomStream random(5, 1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Request> requests;
    for (int i = 0; i < 12; ++i)
      requests.push_back(
          {static_cast<int32_t>(1 + random.below(30)), static_cast<int32_t>(1 + random.below(60))});
    DecodingReplica replica = counting(1e9);
    replica.iteration = [](double batch, double context) { return 1 + 0.5 * batch + 0.25 * context; };
    double seconds = 0;
    for (int32_t step = 0; step < 60; ++step) {
      double batch = 0, context = 0;
      for (const auto& request : requests)
        if (request.response > step) batch += 1, context += request.prompt + step;
      if (batch > 0) seconds += 1 + 0.5 * batch + 0.25 * context;
    }
    EXPECT_NEAR(decode(replica, requests).seconds, seconds, 1e-6 * seconds);
  }
}

TEST(Decoding, QueueEntersAsRoomComes) {
  // Room for two of the four at a time.
  const std::vector<Request> requests(4, {10, 10});
  const auto result = decode(counting(45), requests);
  EXPECT_EQ(result.iterations, 20);
  EXPECT_LE(result.kv_peak, 45);
}

TEST(Decoding, FullPoolPreemptsTheLastAndEndsAll) {
  // Both enter with their prompts; as they grow only one has room.
  DecodingReplica replica = counting(60);
  double prefilled = 0;
  replica.prefill = [&](double tokens) { return prefilled += tokens, 0.0; };
  const auto result = decode(replica, std::vector<Request>{{10, 40}, {10, 40}});
  EXPECT_EQ(result.preempted, 1);
  EXPECT_LE(result.kv_peak, 60);
  EXPECT_GT(prefilled, 20);  // the second was computed again with what it had said so far
  EXPECT_GT(result.iterations, 40);
  EXPECT_LT(result.iterations, 80);
}

TEST(Decoding, SequenceThatNeverFits) {
  EXPECT_FALSE(decode(counting(40), std::vector<Request>{{10, 5}, {10, 40}}).fits);
  EXPECT_TRUE(decode(counting(50), std::vector<Request>{{10, 5}, {10, 40}}).fits);
}

TEST(Decoding, TokensAreConservedUnderAnyPool) {
  RandomStream random(11, 1);
  for (int round = 0; round < 100; ++round) {
    std::vector<Request> requests;
    double tokens = 0;
    for (int i = 0; i < 20; ++i) {
      requests.push_back(
          {static_cast<int32_t>(1 + random.below(50)), static_cast<int32_t>(1 + random.below(200))});
      tokens += requests.back().response;
    }
    const double pool = 260 + 800 * random.uniform();
    const auto result = decode(counting(pool), requests);
    ASSERT_TRUE(result.fits);
    EXPECT_NEAR(result.batch * static_cast<double>(result.iterations), tokens, 1e-6 * tokens);
    EXPECT_LE(result.kv_peak, pool);
  }
}

}  // namespace
}  // namespace nereus::simulator
