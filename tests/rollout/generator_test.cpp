#include "nereus/rollout/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace nereus::rollout {
namespace {

using testing::HasSubstr;

/// Finishes one prompt a step, the last submitted first, as a script says.
class ScriptedGenerator final : public Generator {
 public:
  Status submit(Request request, TokenCallback on_token) override {
    if (request.prompt.empty()) return fail("prompt {} is empty", request.prompt_id);
    waiting_.push_back(std::move(request));
    on_token_ = std::move(on_token);
    return {};
  }

  void cancel(uint64_t prompt_id) override {
    cancelled.push_back(prompt_id);
    std::erase_if(waiting_, [&](const Request& r) { return r.prompt_id == prompt_id; });
  }

  Result<std::vector<Group>> step() override {
    if (steps_before_failure-- == 0) return fail("the device is gone");
    if (waiting_.empty() || stuck) return std::vector<Group>{};
    const Request request = waiting_.back();
    waiting_.pop_back();
    Group group{.prompt_id = request.prompt_id + id_shift, .prompt = request.prompt, .completions = {}};
    for (uint32_t i = 0; i < request.count - missing; ++i) {
      if (on_token_) on_token_(request.prompt_id, i, 7, -0.5F);
      group.completions.push_back(
          {.index = i, .tokens = {7}, .logprobs = {-0.5F}, .versions = {0}, .finish = Finish::stop});
    }
    return std::vector{group};
  }

  bool idle() const override { return waiting_.empty() || stuck; }
  int64_t version() const override { return 0; }

  int steps_before_failure = -1;
  uint32_t missing = 0;
  uint64_t id_shift = 0;
  bool stuck = false;
  std::vector<uint64_t> cancelled;

 private:
  std::deque<Request> waiting_;
  TokenCallback on_token_;
};

std::vector<Request> three_requests() {
  return {{.prompt_id = 5, .prompt = {1}, .count = 2, .seed = 0, .sampling = {}},
          {.prompt_id = 3, .prompt = {2, 2}, .count = 2, .seed = 0, .sampling = {}},
          {.prompt_id = 9, .prompt = {3}, .count = 1, .seed = 0, .sampling = {}}};
}

TEST(GenerateAll, GroupsComeInTheOrderOfTheRequests) {
  ScriptedGenerator generator;
  const auto groups = generate_all(generator, three_requests());
  ASSERT_TRUE(groups) << groups.error().message;
  ASSERT_EQ(groups->size(), 3U);
  EXPECT_EQ((*groups)[0].prompt_id, 5U);
  EXPECT_EQ((*groups)[1].prompt, (Tokens{2, 2}));
  EXPECT_EQ((*groups)[1].completions.size(), 2U);
  EXPECT_EQ((*groups)[2].prompt_id, 9U);
  EXPECT_TRUE(generator.idle());
}

TEST(GenerateAll, NothingAskedNothingDone) {
  ScriptedGenerator generator;
  const auto groups = generate_all(generator, {});
  ASSERT_TRUE(groups);
  EXPECT_TRUE(groups->empty());
}

TEST(GenerateAll, TellsOfEachToken) {
  ScriptedGenerator generator;
  std::vector<uint64_t> prompts;
  const auto groups =
      generate_all(generator, three_requests(), [&](uint64_t prompt, uint32_t, int32_t token, float) {
        EXPECT_EQ(token, 7);
        prompts.push_back(prompt);
        return true;
      });
  ASSERT_TRUE(groups);
  EXPECT_THAT(prompts, testing::UnorderedElementsAre(5, 5, 3, 3, 9));
}

/// What the generator does wrong, and the error that tells.
struct BadCase {
  const char* name;
  void (*spoil)(ScriptedGenerator&, std::vector<Request>&);
  const char* message;
};

class GenerateAllBad : public testing::TestWithParam<BadCase> {};

TEST_P(GenerateAllBad, FailsAndLeavesTheGeneratorIdle) {
  ScriptedGenerator generator;
  auto requests = three_requests();
  GetParam().spoil(generator, requests);
  const auto groups = generate_all(generator, std::move(requests));
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr(GetParam().message));
  EXPECT_TRUE(generator.idle());
  generator.stuck = false;
  generator.missing = 0;
  generator.id_shift = 0;
  EXPECT_TRUE(generate_all(generator, three_requests())) << "usable after the failure";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GenerateAllBad,
    testing::Values(BadCase{"twice", [](auto&, auto& requests) { requests[2].prompt_id = 5; },
                            "prompt 5 was submitted twice"},
                    BadCase{"refused", [](auto&, auto& requests) { requests[2].prompt.clear(); },
                            "prompt 9 is empty"},
                    BadCase{"fails", [](auto& generator, auto&) { generator.steps_before_failure = 1; },
                            "the device is gone"},
                    BadCase{"stalls", [](auto& generator, auto&) { generator.stuck = true; },
                            "3 prompts have no completions"},
                    BadCase{"stranger", [](auto& generator, auto&) { generator.id_shift = 100; },
                            "prompt 109, which nobody"},
                    BadCase{"too_few",
                            [](auto& generator, auto& requests) {
                              generator.missing = 1;
                              requests[2].count = 2;
                            },
                            "made 1 completions of prompt 9; 2 were asked for"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(SamplingOptions, FullSupport) {
  const auto full = [](void (*change)(SamplingOptions&)) {
    SamplingOptions options;
    change(options);
    return options.full_support();
  };
  EXPECT_TRUE(full([](auto& options) { options.temperature = 0.7F; }));
  EXPECT_FALSE(full([](auto& options) { options.top_k = 10; }));
  EXPECT_FALSE(full([](auto& options) { options.top_p = 0.9F; }));
  EXPECT_FALSE(full([](auto& options) { options.min_p = 0.1F; }));
}

}  // namespace
}  // namespace nereus::rollout
