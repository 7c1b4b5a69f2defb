#include "nereus/serving/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serving/proxy_fixture.h"

namespace nereus::serving {
namespace {

http::Response completion(const std::string& choice) {
  return {200, {}, "{\"choices\": [" + choice + "]}"};
}

TEST(Canary, ReadsWhatServersAnswer) {
  const auto full =
      read_canary(completion(R"({"text": "a b", "logprobs": {"token_logprobs": [-1.5, null]}})"));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->text, "a b");
  EXPECT_THAT(full->logprobs, ElementsAre(-1.5, 0));
  EXPECT_THAT(value_or_throw(read_canary(completion(R"({"text": "a"})"))).logprobs, IsEmpty());
  for (const auto& bad : {completion(""), completion("1"), completion(R"({"text": 1})"),
                          http::Response{200, {}, "<html>"}, http::Response{500, {}, "{}"}})
    EXPECT_FALSE(read_canary(bad)) << bad.body;
}

TEST(Canary, Differences) {
  const CanaryAnswer answer{"a b", {-1, -2}};
  EXPECT_FALSE(differs(answer, {"a b", {-1, -2.000001}}));
  EXPECT_TRUE(differs(answer, {"a b", {-1, -2.001}}));
  EXPECT_TRUE(differs(answer, {"a c", {-1, -2}}));
  EXPECT_TRUE(differs(answer, {"a b", {-1}}));
}

// Rollouts keep using the base model: a canary proves that the adapter acts [ms-swift 9855].
TEST_F(ProxyTest, Fault10_AnAdapterThatDoesNotActOnAServerIsNotPublished) {
  auto options = fast();
  options.fleet.canary = "Two and two is";
  start(2, std::move(options));
  stubs_[1]->set_fault(Fault::ignore_adapters);
  const auto refused = publish("policy-v1");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body,
              HasSubstr("the canary on " + stubs_[1]->url().text() + ": it answers as its base model does"));
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), IsEmpty());
  EXPECT_EQ(complete("policy-v1").status, 404);
  stubs_[1]->set_fault(Fault::none);
  EXPECT_EQ(publish("policy-v1").status, 200);
  EXPECT_EQ(complete("policy-v1").status, 200);
  // Once one has acted, one that acts nowhere is refused too.
  EXPECT_EQ(publish("untrained").status, 409);
}

TEST_F(ProxyTest, AnAdapterThatWasNotTrainedYetIsPublished) {
  auto options = fast();
  options.fleet.canary = "Two and two is";
  start(2, std::move(options));
  EXPECT_EQ(publish("untrained").status, 200);
  EXPECT_EQ(metric("nereus_proxy_publications_total{result=\"unproved\"}"), 1);
  EXPECT_EQ(publish("policy-v1").status, 200);
}

TEST_F(ProxyTest, AServerThatFailsItsCanaryIsNamed) {
  auto options = fast();
  options.fleet.canary = "Two and two is";
  start(2, std::move(options));
  stubs_[0]->set_fault(Fault::garbage);
  const auto refused = publish("policy-v1");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("the canary on " + stubs_[0]->url().text()));
  // A pause keeps the canary from being answered: nothing is asked then.
  EXPECT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
  EXPECT_EQ(publish("policy-v1").status, 200);
}

}  // namespace
}  // namespace nereus::serving
