// Requests through the proxy while all is well.
#include "tests/serving/proxy_fixture.h"

namespace nereus::serving {
namespace {

TEST_F(ProxyTest, KeepsPrefixesTogether) {
  start(3, fast());
  for (int prompt = 0; prompt < 6; ++prompt)
    for (int i = 0; i < 4; ++i) EXPECT_EQ(complete("", 1000 * prompt).status, 200);
  for (const auto& stub : stubs_) EXPECT_EQ(stub->completions, 8);
  EXPECT_EQ(metric("nereus_proxy_routed_total{reason=\"affinity\"}"), 18);
  EXPECT_EQ(metric("nereus_proxy_requests_total"), 24);
  EXPECT_EQ(stubs_[0]->last_authorization(), "Bearer inner");
}

TEST_F(ProxyTest, NeedsItsToken) {
  start(1, fast());
  EXPECT_EQ(value_or_throw(client_.fetch(url_, post("/v1/completions", "{}"))).status, 401);
  EXPECT_EQ(value_or_throw(client_.fetch(url_, get("/health"))).status, 200);
}

TEST_F(ProxyTest, BadRequests) {
  start(1, fast());
  EXPECT_EQ(ask(post("/v1/completions", "{")).status, 400);
  EXPECT_EQ(ask(post("/v1/completions", "[]")).status, 400);
  EXPECT_EQ(ask(get("/v1/completions")).status, 404);
  EXPECT_EQ(ask(get("/")).status, 404);
  EXPECT_EQ(complete("nobody").status, 404);
  EXPECT_EQ(stubs_[0]->completions, 0);
  for (const char* name : {"", "../x", "a/b", ".a"}) EXPECT_EQ(publish(name).status, 400) << name;
  EXPECT_EQ(ask(post("/pause?mode=never", "")).status, 400);
  EXPECT_THAT(stubs_[0]->adapters(), IsEmpty());
}

TEST_F(ProxyTest, StreamsPassThroughAsTheyCome) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::slow);
  test::RawSocket socket(server_->port());
  ASSERT_TRUE(ask_for_stream(socket));
  EXPECT_THAT(socket.receive_until("\"i\": 0"), HasSubstr("Content-Type: text/event-stream"));
  EXPECT_EQ(stubs_[0]->running, 1);  // the rest has not been made yet
  EXPECT_THAT(socket.receive_until("[DONE]"), HasSubstr("\"i\": 4"));
}

TEST_F(ProxyTest, AClientThatLeavesFreesTheServer) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::slow);
  {
    test::RawSocket socket(server_->port());
    ASSERT_TRUE(ask_for_stream(socket));
    socket.receive_until("\"i\": 0");
  }
  EXPECT_TRUE(eventually([&] { return stubs_[0]->abandoned == 1 && stubs_[0]->running == 0; }));
  EXPECT_EQ(state(0), "serving");  // which is no fault of the server
}

TEST_F(ProxyTest, PlainServersServeTheBaseAlone) {
  start(1, fast(), BackendKind::openai);
  EXPECT_EQ(complete("base").status, 200);
  EXPECT_EQ(publish("policy-v1").status, 409);
  EXPECT_EQ(stubs_[0]->count("POST /v1/load_lora_adapter policy-v1"), 0U);
}

TEST_F(ProxyTest, RequestsBeyondTheLimitAreTurnedAway) {
  auto options = fast();
  options.max_running = 0;
  start(1, std::move(options));
  const auto answer = complete("");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.get("Retry-After"), "1");
}

}  // namespace
}  // namespace nereus::serving
