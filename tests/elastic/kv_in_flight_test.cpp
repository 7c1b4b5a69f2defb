#include "nereus/elastic/kv_in_flight.h"

#include <gtest/gtest.h>

#include <vector>

namespace nereus::elastic {
namespace {

TEST(KvInFlight, TheCheapestWay) {
  const KvRates rates{.decode_step = 0.01, .bandwidth = 10e9, .prefill = 10'000};
  struct Case {
    KvInFlight kv;
    KvChoice choice;
    double seconds;
  };
  for (const auto& [kv, choice, seconds] : std::vector<Case>{
           {{.bytes = 20'000'000'000, .tokens = 100'000, .longest_left = 100}, KvChoice::finish, 1},
           {{.bytes = 20'000'000'000, .tokens = 100'000, .longest_left = 1000}, KvChoice::move, 2},
           {{.bytes = 20'000'000'000, .tokens = 10'000, .longest_left = 1000}, KvChoice::recompute, 1},
           {{.bytes = 20'000'000'000, .tokens = 100'000, .longest_left = 1000, .same_version = false},
            KvChoice::finish,
            10},
           {{.bytes = 20'000'000'000, .tokens = 50'000, .longest_left = 1000, .same_shards = false},
            KvChoice::recompute,
            5},
           {{.bytes = 0, .tokens = 0, .longest_left = 0}, KvChoice::finish, 0}}) {
    const KvDecision decision = decide_kv(kv, rates);
    EXPECT_EQ(decision.choice, choice) << name_of(decision.choice);
    EXPECT_DOUBLE_EQ(decision.seconds, seconds);
  }
}

}  // namespace
}  // namespace nereus::elastic
