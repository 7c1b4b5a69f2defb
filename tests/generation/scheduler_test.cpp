#include "nereus/generation/scheduler.h"

#include <gtest/gtest.h>

namespace nereus::generation {
namespace {

rollout::Request request(uint64_t id, int64_t prompt, uint32_t count) {
  rollout::Request r;
  r.prompt_id = id;
  r.prompt.assign(static_cast<size_t>(prompt), 1);
  r.count = count;
  return r;
}

/// What the engine does with a schedule, without a model: marks rows as computed and appends a token.
int64_t run(Scheduler& scheduler, const Schedule& schedule, int64_t max_tokens) {
  int64_t rows = 0;
  std::vector<Sequence*> drawn = schedule.fresh;
  for (const generation::Run& r : schedule.runs) {
    rows += r.rows;
    EXPECT_GT(r.rows, 0);
    if (!r.sequence) continue;
    EXPECT_EQ(r.first, r.sequence->cached);
    r.sequence->cached += r.rows;
    EXPECT_LE(r.sequence->tokens(), static_cast<int64_t>(r.sequence->blocks.size()) * 4);
    if (r.sequence->cached == r.sequence->tokens()) drawn.push_back(r.sequence);
  }
  for (Sequence* s : drawn) {
    EXPECT_EQ(s->group->prompt_cached, s->group->prompt_tokens());
    s->completion.tokens.push_back(7);
    if (s->tokens() >= max_tokens) scheduler.finish(*s);
  }
  return rows;
}

TEST(Scheduler, ComputesAPromptOnceForItsGroup) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 100}, 100);
  scheduler.add(request(1, 10, 5), {});
  const Schedule first = scheduler.next();
  ASSERT_EQ(first.runs.size(), 1U);
  EXPECT_EQ(first.runs[0].rows, 10);
  EXPECT_EQ(first.fresh.size(), 5U);
  run(scheduler, first, 3);
  EXPECT_EQ(run(scheduler, scheduler.next(), 3), 5);  // one row a sequence from now on
  EXPECT_EQ(run(scheduler, scheduler.next(), 3), 5);
  EXPECT_EQ(scheduler.take_finished().size(), 1U);
  EXPECT_TRUE(scheduler.idle());
  EXPECT_EQ(scheduler.pool().free(), 100);
}

TEST(Scheduler, NeverRunsMoreThanAllowed) {
  Scheduler scheduler({.max_running = 3, .block_tokens = 4, .prefill_tokens = 100}, 100);
  scheduler.add(request(1, 10, 5), {});
  scheduler.add(request(2, 10, 5), {});
  int64_t prompts = 0, steps = 0;
  while (!scheduler.idle() && ++steps < 100) {
    const Schedule schedule = scheduler.next();
    EXPECT_LE(scheduler.running(), 3);
    for (const generation::Run& r : schedule.runs) prompts += r.sequence ? 0 : 1;
    run(scheduler, schedule, 4);
    scheduler.take_finished();
  }
  EXPECT_TRUE(scheduler.idle());
  EXPECT_EQ(prompts, 2);
  EXPECT_EQ(scheduler.preemptions(), 0);
}

TEST(Scheduler, PreemptsTheLastAndFinishesAllWithFewBlocks) {
  // A prompt takes 3 blocks and an answer of 16 tokens 4: the pool holds barely more than one of them.
  for (const auto& [blocks, prefill] : {std::pair<int64_t, int64_t>{7, 100},
                                        {8, 100},
                                        {11, 100},
                                        {20, 100},
                                        {7, 1},
                                        {8, 3},
                                        {11, 7},
                                        {20, 12}}) {
    Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = prefill}, blocks);
    for (uint64_t id = 0; id < 4; ++id) scheduler.add(request(id, 10, 3), {});
    std::vector<rollout::Group> done;
    int steps = 0;
    while (!scheduler.idle() && ++steps < 2000) {
      const Schedule schedule = scheduler.next();
      ASSERT_FALSE(schedule.runs.empty() && schedule.fresh.empty()) << "stuck with " << blocks;
      run(scheduler, schedule, 16);
      for (auto& group : scheduler.take_finished()) done.push_back(std::move(group));
    }
    ASSERT_EQ(done.size(), 4U) << blocks;
    EXPECT_EQ(scheduler.pool().free(), blocks);
    for (const auto& group : done) {
      ASSERT_EQ(group.completions.size(), 3U);
      for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(group.completions[i].index, i);
        EXPECT_EQ(group.completions[i].tokens.size(), 16U);
      }
    }
  }
}

TEST(Scheduler, CancelFreesEverythingOfAGroup) {
  Scheduler scheduler({.max_running = 2, .block_tokens = 4, .prefill_tokens = 100}, 50);
  scheduler.add(request(1, 10, 3), {});
  scheduler.add(request(2, 10, 1), {});
  run(scheduler, scheduler.next(), 100);
  scheduler.cancel(1);
  EXPECT_EQ(scheduler.pool().free(), 50);  // at once, not when its group is taken
  const auto done = scheduler.take_finished();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].prompt_id, 1U);
  for (const auto& completion : done[0].completions) EXPECT_EQ(completion.finish, rollout::Finish::cancelled);
  EXPECT_EQ(done[0].completions.size(), 3U);
  EXPECT_EQ(scheduler.pool().free(), 50);
  EXPECT_FALSE(scheduler.idle());
}

TEST(Scheduler, PromptsBeyondTheBudgetWaitForTheNextStep) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 25}, 100);
  for (uint64_t id = 0; id < 3; ++id) scheduler.add(request(id, 12, 1), {});
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 24);
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 2 + 12);
}

TEST(Scheduler, ALongPromptIsComputedInPiecesWhileOthersGoOn) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 25}, 100);
  scheduler.add(request(1, 10, 2), {});
  run(scheduler, scheduler.next(), 20);
  scheduler.add(request(2, 60, 2), {});
  scheduler.add(request(3, 4, 1), {});
  for (const int64_t piece : {25, 25}) {
    const Schedule schedule = scheduler.next();
    EXPECT_TRUE(schedule.fresh.empty());
    EXPECT_EQ(run(scheduler, schedule, 20), 2 + piece);
  }
  // The rest has room for the short prompt beside it.
  const Schedule schedule = scheduler.next();
  EXPECT_EQ(schedule.fresh.size(), 3U);
  EXPECT_EQ(run(scheduler, schedule, 20), 2 + 10 + 4);
  EXPECT_EQ(run(scheduler, scheduler.next(), 20), 2 + 3);
}

TEST(Scheduler, PiecesOfALongPromptAreKnownToOthersOnceTheyAreComputed) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 10, .prefix_cache = true}, 100);
  scheduler.add(request(1, 22, 1), {});
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 10);
  scheduler.cancel(1);
  scheduler.take_finished();
  scheduler.add(request(2, 22, 1), {});
  // Two whole blocks of the ten tokens are found.
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 10);
  EXPECT_EQ(scheduler.prefix_hits(), 8);
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 4);
  EXPECT_EQ(scheduler.running(), 1);
}

TEST(Scheduler, APromptOfWhichAPieceIsComputedBeginsAnewUnderAnotherPolicy) {
  for (const bool prefix_cache : {false, true}) {
    Scheduler scheduler(
        {.max_running = 8, .block_tokens = 4, .prefill_tokens = 10, .prefix_cache = prefix_cache}, 100);
    scheduler.add(request(1, 22, 1), {}, {.version = 1, .adapter = nullptr, .serial = 1});
    run(scheduler, scheduler.next(), 10);
    scheduler.change_policy(1, {.version = 2, .adapter = nullptr, .serial = 2});
    const Schedule schedule = scheduler.next();
    ASSERT_EQ(schedule.runs.size(), 1U);
    EXPECT_EQ(schedule.runs[0].first, 0);
    EXPECT_EQ(schedule.runs[0].group->policy.version, 2);
    for (const int64_t piece : {10, 2}) EXPECT_EQ(run(scheduler, scheduler.next(), 10), piece);
    EXPECT_EQ(scheduler.running(), 1);
  }
}

TEST(Scheduler, ALongAnswerIsComputedAgainInPieces) {
  Scheduler scheduler({.max_running = 2, .block_tokens = 4, .prefill_tokens = 10}, 100);
  scheduler.add(request(1, 8, 1), {}, {.version = 1, .adapter = nullptr, .serial = 1});
  scheduler.add(request(2, 2, 1), {}, {.version = 1, .adapter = nullptr, .serial = 2});
  for (int step = 0; step < 25; ++step) run(scheduler, scheduler.next(), 100);
  scheduler.change_policy(1, {.version = 2, .adapter = nullptr, .serial = 3});
  // The prompt, and 2, 10, 10 and 3 of its 25 tokens; the other goes on with one token each time.
  for (const int64_t piece : {8 + 2, 10, 10, 3}) EXPECT_EQ(run(scheduler, scheduler.next(), 100), 1 + piece);
  EXPECT_EQ(run(scheduler, scheduler.next(), 100), 1 + 1);
}

TEST(Scheduler, PrefixesThatAreKnownTakeNoRoomInAStep) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 20, .prefix_cache = true}, 100);
  for (uint64_t id = 0; id < 3; ++id) scheduler.add(request(id, 12, 1), {});
  // 12 tokens, then twice the 4 behind two known blocks: without the cache the third would wait.
  EXPECT_EQ(run(scheduler, scheduler.next(), 10), 12 + 4 + 4);
  EXPECT_EQ(scheduler.running(), 3);
  EXPECT_EQ(scheduler.prefix_queries(), 36);
  EXPECT_EQ(scheduler.prefix_hits(), 16);
}

TEST(Scheduler, KeptBlocksNeverKeepARequestOut) {
  Scheduler scheduler({.max_running = 8, .block_tokens = 4, .prefill_tokens = 100, .prefix_cache = true}, 8);
  for (uint64_t id = 0; id < 20; ++id) {
    auto r = request(id, 12, 2);
    r.prompt.assign(12, static_cast<int32_t>(id % 3));
    scheduler.add(std::move(r), {});
  }
  int steps = 0;
  size_t done = 0;
  while (!scheduler.idle() && ++steps < 2000) {
    const Schedule schedule = scheduler.next();
    ASSERT_FALSE(schedule.runs.empty() && schedule.fresh.empty());
    run(scheduler, schedule, 9);
    done += scheduler.take_finished().size();
  }
  EXPECT_EQ(done, 20U);
  EXPECT_EQ(scheduler.pool().free(), 8);
}

TEST(Scheduler, AChangeOfPolicyStartsItsGroupsAgainWithTheirTokens) {
  Scheduler scheduler({.max_running = 3, .block_tokens = 4, .prefill_tokens = 100}, 100);
  scheduler.add(request(1, 10, 2), {}, {.version = 1, .adapter = nullptr, .serial = 1});
  scheduler.add(request(2, 10, 2), {}, {.version = 1, .adapter = nullptr, .serial = 2});
  run(scheduler, scheduler.next(), 10);
  run(scheduler, scheduler.next(), 10);
  scheduler.change_policy(1, {.version = 2, .adapter = nullptr, .serial = 3});
  EXPECT_EQ(scheduler.running(), 1);
  const Schedule schedule = scheduler.next();
  // The other goes on with one token; the prompt and two tokens of each are computed again.
  EXPECT_EQ(run(scheduler, schedule, 10), 1 + 10 + 2 + 2);
  for (const generation::Run& r : schedule.runs)
    EXPECT_EQ(r.group->policy.version, r.group->request.prompt_id == 1 ? 2 : 1);
  scheduler.change_policy(7, {});  // nobody has it
  EXPECT_EQ(scheduler.running(), 3);
}

}  // namespace
}  // namespace nereus::generation
