#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "nereus/base/random.h"
#include "tests/generation/tiny_policy.h"

// The prefix cache as requests of the engine meet it. Blocks have 4 tokens.
namespace nereus::generation {
namespace {

EngineOptions cached(int64_t blocks = 1000) {
  return {.kv_bytes = blocks * kTinyBlockBytes, .block_tokens = 4, .prefix_cache = true};
}

rollout::Tokens counting(int32_t count, int32_t first = 1) {
  rollout::Tokens tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back((first + 7 * i) % 160);
  return tokens;
}

rollout::Tokens joined(rollout::Tokens a, const rollout::Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

rollout::Group answer(Engine& engine, const rollout::Request& r) {
  return std::move(value_or_throw(rollout::generate_all(engine, {r}))[0]);
}

void expect_same(const rollout::Group& got, const rollout::Group& expected) {
  ASSERT_EQ(got.completions.size(), expected.completions.size());
  for (size_t c = 0; c < got.completions.size(); ++c) {
    EXPECT_EQ(got.completions[c].tokens, expected.completions[c].tokens);
    for (size_t t = 0; t < got.completions[c].logprobs.size(); ++t)
      EXPECT_NEAR(got.completions[c].logprobs[t], expected.completions[c].logprobs[t], 1e-5);
  }
}

class PrefixCache : public ::testing::Test {
 protected:
  /// What an engine without a cache answers to this request alone.
  rollout::Group cold(const rollout::Request& r) const {
    Engine engine(packed_, {.block_tokens = 4});
    rollout::Group group = answer(engine, r);
    EXPECT_EQ(group.cached_tokens, 0);
    return group;
  }
  void answers_stay_true(int64_t prefill_tokens) const;
  const model::Transformer packed_ = tiny().packed(kernels::Element::f32);
};

TEST_F(PrefixCache, HitsGiveTheTokensOfAColdStart) {
  const std::pair<const char*, rollout::SamplingOptions> samplings[] = {
      {"greedy", {.temperature = 0, .stop_ids = {}}},
      {"seeded", {}},
      {"filtered", {.temperature = 0.8F, .top_p = 0.9F, .stop_ids = {}}}};
  struct Case {
    rollout::Tokens prompt;
    int64_t cached;  // after counting(18) was answered
  };
  const Case cases[] = {
      {counting(18), 16},                          // the last two tokens had no full block
      {joined(counting(18), counting(6, 3)), 16},  // another turn
      {counting(16), 12},                          // the last token is always computed
      {counting(17), 16},
      {counting(3), 0},
      {joined(counting(9), counting(9, 5)), 8},
      {counting(18, 2), 0},
  };
  for (const auto& [name, sampling] : samplings)
    for (const Case& c : cases) {
      Engine engine(packed_, cached());
      answer(engine, request(1, counting(18), 2));
      auto r = request(2, c.prompt, 3);
      r.sampling = sampling;
      r.sampling.max_new_tokens = 12;
      const rollout::Group got = answer(engine, r);
      EXPECT_EQ(got.cached_tokens, c.cached) << name << " " << c.prompt.size();
      expect_same(got, cold(r));
      EXPECT_EQ(engine.stats().prefix_hits, c.cached);
      EXPECT_EQ(engine.stats().prefix_queries, static_cast<int64_t>(18 + c.prompt.size()));
      EXPECT_EQ(engine.stats().prefill_tokens, static_cast<int64_t>(18 + c.prompt.size()) - c.cached);
      EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
    }
}

// The next turn of a conversation repeats the answer, for every length of prompt within a block.
TEST_F(PrefixCache, TheNextTurnFindsTheAnswerToo) {
  for (int32_t length = 1; length < 10; ++length) {
    Engine engine(packed_, cached());
    rollout::Tokens conversation = counting(length);
    int64_t hits = 0;
    for (uint64_t turn = 1; turn < 5; ++turn) {
      const auto r = request(turn, conversation, 1, static_cast<int32_t>(5 + turn));
      const rollout::Group got = answer(engine, r);
      EXPECT_EQ(got.cached_tokens, hits) << length << " " << turn;
      expect_same(got, cold(r));
      EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
      conversation = joined(conversation, got.completions[0].tokens);
      hits =
          (static_cast<int64_t>(conversation.size()) - 1) / 4 * 4;  // the last token was drawn, not computed
      conversation = joined(conversation, counting(3, static_cast<int32_t>(turn)));
    }
  }
}

TEST_F(PrefixCache, EveryAnswerOfAGroupCanGoOn) {
  for (const int32_t length : {15, 16, 17}) {
    Engine engine(packed_, cached());
    // The second time the prompt is known, and its last token is computed again.
    for (uint64_t time = 1; time < 3; ++time) {
      const rollout::Group group = answer(engine, request(time, counting(length), 4));
      for (const auto& completion : group.completions) {
        const auto r =
            request(10 * time + completion.index, joined(counting(length), completion.tokens), 1, 6);
        const rollout::Group next = answer(engine, r);
        EXPECT_EQ(next.cached_tokens, (length + 11) / 4 * 4);
        expect_same(next, cold(r));
      }
    }
    EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
  }
}

TEST_F(PrefixCache, AnAnswerThatChangedItsPolicyIsKeptUnderTheLastOne) {
  Engine engine(packed_, cached());
  engine.set_policy("a", 1, random_adapter(1));
  auto r = request(1, counting(18), 1, 20);
  r.policy = "a";
  value_or_throw(engine.submit(r));
  for (int step = 0; step < 8; ++step) value_or_throw(engine.step());
  engine.replace_policy("a", 2, random_adapter(2));
  const auto mixed = run_out(engine)[0].completions[0];
  ASSERT_EQ(mixed.versions.front(), 1);
  ASSERT_EQ(mixed.versions.back(), 2);
  auto next = request(2, joined(counting(18), mixed.tokens), 1);
  next.policy = "a";
  const rollout::Group got = answer(engine, next);
  EXPECT_EQ(got.cached_tokens, 36);
  Engine alone(packed_, {.block_tokens = 4});
  alone.set_policy("a", 2, random_adapter(2));
  expect_same(got, answer(alone, next));
}

TEST_F(PrefixCache, ACancelledAnswerIsNotKept) {
  Engine engine(packed_, cached());
  value_or_throw(engine.submit(request(1, counting(18), 2, 40)));
  for (int step = 0; step < 20; ++step) value_or_throw(engine.step());
  engine.cancel(1);
  run_out(engine);
  EXPECT_EQ(engine.stats().cached_blocks, 4);
  EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
}

TEST_F(PrefixCache, RequestsOfOneStepShareWhatTheFirstComputes) {
  Engine engine(packed_, cached());
  std::vector<rollout::Request> requests;
  for (int32_t i = 0; i < 4; ++i)
    requests.push_back(request(static_cast<uint64_t>(i), joined(counting(16), {i, i}), 1));
  for (const auto& r : requests) value_or_throw(engine.submit(r));
  value_or_throw(engine.step());
  EXPECT_EQ(engine.stats().running, 4);
  EXPECT_EQ(engine.stats().prefill_tokens, 18 + 3 * 2);
  // Four full blocks are everybody's; each has one with its prompt's end.
  EXPECT_EQ(engine.stats().total_blocks - engine.stats().free_blocks, 4 + 4);
  for (const auto& group : run_out(engine)) {
    EXPECT_EQ(group.cached_tokens, group.prompt_id == 0 ? 0 : 16);
    expect_same(group, cold(requests[group.prompt_id]));
  }
  EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
}

TEST_F(PrefixCache, NothingPassesBetweenPoliciesOrVersions) {
  Engine engine(packed_, cached());
  engine.set_policy("a", 1, random_adapter(1));
  engine.set_policy("b", 1, random_adapter(2));
  uint64_t id = 0;
  const auto ask = [&](const std::string& policy) {
    auto r = request(++id, counting(18), 2);
    r.stream = 1;
    r.policy = policy;
    return answer(engine, r);
  };
  const rollout::Group base = ask(""), a = ask("a"), b = ask("b");
  for (const auto* group : {&base, &a, &b}) EXPECT_EQ(group->cached_tokens, 0);
  EXPECT_NE(a.completions[0].logprobs, b.completions[0].logprobs);
  for (const char* policy : {"", "a", "b"}) EXPECT_EQ(ask(policy).cached_tokens, 16) << policy;
  const int64_t kept = engine.stats().cached_blocks / 3;
  EXPECT_EQ(engine.stats().cached_blocks, 3 * kept);
  EXPECT_GT(kept, 4);  // the prompt's and the answers'
  // A new version under the same name.
  engine.set_policy("a", 2, random_adapter(2));
  EXPECT_EQ(engine.stats().cached_blocks, 2 * kept);
  const rollout::Group replaced = ask("a");
  EXPECT_EQ(replaced.cached_tokens, 0);
  expect_same(replaced, b);
  EXPECT_EQ(ask("b").cached_tokens, 16);
  engine.remove_policy("a");
  EXPECT_EQ(engine.stats().cached_blocks, 2 * kept);
  // With the engine's own policy the weights below all adapters may have changed.
  engine.set_policy("", 3, nullptr);
  EXPECT_EQ(engine.stats().cached_blocks, 0);
  EXPECT_EQ(ask("b").cached_tokens, 0);
}

TEST_F(PrefixCache, APolicyThatIsReplacedWhileItAnswersKeepsItsBlocks) {
  Engine engine(packed_, cached());
  engine.set_policy("a", 1, random_adapter(1));
  auto first = request(1, counting(18), 2, 20), second = request(2, counting(18), 2, 20);
  first.policy = second.policy = "a";
  second.stream = 1;
  const rollout::Group alone = answer(engine, first);
  value_or_throw(engine.submit(first));
  value_or_throw(engine.step());
  engine.set_policy("a", 2, random_adapter(2));
  value_or_throw(engine.submit(second));
  for (const auto& group : run_out(engine)) {
    EXPECT_EQ(group.cached_tokens, group.prompt_id == 1 ? 16 : 0);
    if (group.prompt_id == 1)
      expect_same(group, alone);
    else
      EXPECT_NE(group.completions[0].logprobs, alone.completions[0].logprobs);
  }
  EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
}

// Conversations that grow, in a pool that holds few of them: blocks are given up and sequences preempted,
// some clients leave, and every answer is that of a cold start.
TEST_F(PrefixCache, AnswersStayTrueUnderPressure) {
  for (const int64_t prefill_tokens : {2048, 7}) answers_stay_true(prefill_tokens);
}

void PrefixCache::answers_stay_true(int64_t prefill_tokens) const {
  RandomStream random(3, 0);
  EngineOptions options = cached(40);
  options.prefill_tokens = prefill_tokens;
  Engine engine(packed_, options);
  std::vector<rollout::Tokens> conversations(6);
  std::map<uint64_t, rollout::Request> asked;
  uint64_t id = 0;
  int64_t checked = 0;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 3; ++i) {
      rollout::Tokens& prompt = conversations[random.below(conversations.size())];
      if (prompt.size() > 60) prompt.clear();
      prompt = joined(
          prompt, counting(static_cast<int32_t>(3 + random.below(9)), static_cast<int32_t>(random.below(3))));
      const auto r = request(++id, prompt, static_cast<uint32_t>(1 + random.below(3)));
      asked[id] = r;
      value_or_throw(engine.submit(r));
    }
    for (int step = 0; step < 3; ++step) value_or_throw(engine.step());
    if (round % 4 == 0) engine.cancel(id);
    for (const auto& group : run_out(engine)) {
      if (group.completions[0].finish == rollout::Finish::cancelled) continue;
      expect_same(group, cold(asked[group.prompt_id]));
      ++checked;
      for (rollout::Tokens& prompt : conversations)
        if (prompt == group.prompt) prompt = joined(prompt, group.completions.back().tokens);
    }
    ASSERT_EQ(engine.stats().free_blocks, 40);
  }
  EXPECT_GT(checked, 60);
  EXPECT_GT(engine.stats().preemptions, 0);
  EXPECT_GT(engine.stats().prefix_hits, 200);
  EXPECT_GT(engine.stats().cached_blocks, 0);
}

TEST_F(PrefixCache, BlocksOfAFailedStepAreForgotten) {
  model::Transformer model = tiny();
  {
    const at::NoGradGuard guard;
    model.weights().back().tensor.fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const model::Transformer broken = model.packed(kernels::Element::f32);
  Engine engine(broken, cached());
  for (uint64_t id = 1; id < 3; ++id) {
    EXPECT_FALSE(rollout::generate_all(engine, {request(id, counting(18), 2)}));
    EXPECT_EQ(engine.stats().cached_blocks, 0);
    EXPECT_EQ(engine.stats().free_blocks, engine.stats().total_blocks);
  }
  EXPECT_EQ(engine.stats().prefix_hits, 0);
}

TEST_F(PrefixCache, IsOffUnlessAskedFor) {
  Engine engine(packed_, {.block_tokens = 4});
  for (uint64_t id = 1; id < 3; ++id)
    EXPECT_EQ(answer(engine, request(id, counting(18), 2)).cached_tokens, 0);
  EXPECT_EQ(engine.stats().prefix_queries, 0);
  EXPECT_EQ(engine.stats().cached_blocks, 0);
}

// Products of a few rows sum in another order than those of many: the last bits differ, no more than that.
TEST(SmolLm2, AWarmPromptHasTheLogProbsOfAColdOne) {
  if (!std::filesystem::exists(golden::smollm2()))
    GTEST_SKIP() << "no model: scripts/setup --model fetches it";
  const auto source = value_or_throw(checkpoint::Source::open(golden::smollm2()));
  const auto packed = value_or_throw(model::Transformer::load(source, kernels::Element::f32));
  Engine engine(packed, {.prefix_cache = true});
  auto r = request(1, {}, 1, 3);
  for (int32_t i = 0; i < 261; ++i) r.prompt.push_back((i * 7919 + 13) % 40000);
  const rollout::Group cold = answer(engine, r), warm = answer(engine, r);
  EXPECT_EQ(cold.cached_tokens, 0);
  EXPECT_EQ(warm.cached_tokens, 256);
  EXPECT_EQ(warm.completions[0].tokens, cold.completions[0].tokens);
  for (size_t t = 0; t < 3; ++t)
    EXPECT_NEAR(warm.completions[0].logprobs[t], cold.completions[0].logprobs[t], 2e-4);
  // The keys of an answer were stored row by row.
  auto first = request(2, r.prompt, 1, 40);
  first.prompt.resize(20);
  auto next = request(3, joined(first.prompt, answer(engine, first).completions[0].tokens), 1, 3);
  const rollout::Group turn = answer(engine, next);
  EXPECT_EQ(turn.cached_tokens, 48);
  Engine fresh(packed, {});
  const rollout::Group alone = answer(fresh, next);
  EXPECT_EQ(turn.completions[0].tokens, alone.completions[0].tokens);
  for (size_t t = 0; t < 3; ++t)
    EXPECT_NEAR(turn.completions[0].logprobs[t], alone.completions[0].logprobs[t], 2e-4);
}

}  // namespace
}  // namespace nereus::generation
