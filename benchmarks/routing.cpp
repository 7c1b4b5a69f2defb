// Routing: how long a decision takes with many blocks remembered, and what a replay of rollouts gives beside
// round robin and least loaded. Prints a table; needs no model.
#include "nereus/serving/routing.h"

#include <fmt/format.h>

#include <ctime>
#include <vector>

#include "nereus/base/random.h"
#include "tests/serving/replay.h"

namespace {

using namespace nereus;

constexpr size_t kServers = 8, kRemembered = 100000, kPromptTokens = 1024, kDecisions = 20000;

/// Of this thread, so that other programs on the machine do not count.
double cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<int32_t> prompt(uint64_t number) {
  RandomStream random(7, number);
  std::vector<int32_t> tokens(kPromptTokens);
  for (auto& token : tokens) token = static_cast<int32_t>(random.below(50000));
  return tokens;
}

void decisions() {
  serving::PrefixRouter router(kServers, {.max_blocks = kRemembered});
  std::vector<int64_t> running(kServers, 0);
  const std::vector<bool> eligible(kServers, true);
  uint64_t number = 0;
  while (router.remembered() < kRemembered)
    router.choose(serving::block_hashes("policy-v1", prompt(number++), 16), running, eligible);
  std::vector<std::vector<int32_t>> prompts;
  // Half were seen before, half are new and push others out.
  for (size_t i = 0; i < 1000; ++i) prompts.push_back(prompt(i % 2 == 0 ? number - 1 - i / 2 : number + i));
  const double start = cpu_seconds();
  for (size_t i = 0; i < kDecisions; ++i)
    router.choose(serving::block_hashes("policy-v1", prompts[i % prompts.size()], 16), running, eligible);
  fmt::print("decision, {} tokens a prompt, {} blocks remembered: {:.2f} us (hashes included)\n\n",
             kPromptTokens, router.remembered(), (cpu_seconds() - start) / kDecisions * 1e6);
}

void replay(const char* name, const test::ReplayOptions& options) {
  fmt::print("{}\n{:14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", name, "policy", "affinity", "fresh",
             "spilled", "busiest", "crowded", "hits");
  const std::pair<const char*, test::Policy> policies[] = {{"prefix", test::Policy::prefix},
                                                           {"round robin", test::Policy::round_robin},
                                                           {"least loaded", test::Policy::least_loaded}};
  for (const auto& [label, policy] : policies) {
    const auto result = test::Replay(options).run(policy);
    const auto share = [&](size_t part) {
      return 100.0 * static_cast<double>(part) / static_cast<double>(result.requests);
    };
    fmt::print("{:14} {:8.2f}% {:8.2f}% {:8.2f}% {:8.3f}x {:8.3f}x {:8.2f}%\n", label, share(result.affinity),
               share(result.fresh), share(result.spilled), result.busiest, result.crowded,
               100 * result.hit_rate);
  }
  fmt::print("\n");
}

}  // namespace

int main() {
  decisions();
  replay("64,728 rollouts of one turn in groups of 8, 4 servers", {});
  test::ReplayOptions mixed;
  mixed.interleaved = 2;
  replay("the same, requests of two groups mixed on their way", mixed);
  mixed.interleaved = mixed.burst_groups;
  replay("the same, the 32 groups of a burst mixed on their way (which 4 servers in turn keep together)",
         mixed);
  test::ReplayOptions conversations;
  conversations.turns = 3;
  conversations.rollouts = 21576;
  conversations.burst_groups = 8;
  replay("21,576 conversations of 3 turns in groups of 8, 4 servers", conversations);
  conversations.burst_groups = 32;
  replay("the same, four times as many at once", conversations);
}
