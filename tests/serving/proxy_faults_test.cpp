// Servers that die, hang, lose their adapters, or answer nonsense.
#include "tests/serving/proxy_fixture.h"

namespace nereus::serving {
namespace {

// A restarted server has lost its adapters: reloaded before it serves [prime-rl 1564].
TEST_F(ProxyTest, Fault17_AServerThatReturnsGetsItsAdaptersBeforeRequests) {
  start(2, fast());
  ASSERT_EQ(publish("policy-v1").status, 200);
  stubs_[0]->kill();
  ASSERT_TRUE(eventually([&] { return state(0) == "ejected"; }));
  ASSERT_EQ(publish("policy-v2").status, 200);
  ASSERT_EQ(withdraw("policy-v1").status, 200);
  stubs_[0]->restart();
  ASSERT_TRUE(eventually([&] { return serving() == 2; }));
  EXPECT_THAT(stubs_[0]->adapters(), ElementsAre(Pair("policy-v2", "/bucket/policy-v2")));
  for (int prompt = 0; prompt < 6; ++prompt) EXPECT_EQ(complete("policy-v2", 1000 * prompt).status, 200);
  EXPECT_EQ(stubs_[0]->completions, 3);
}

TEST_F(ProxyTest, AServerThatLostItsAdaptersUnnoticedIsFoundOutByARequest) {
  auto options = fast();
  options.fleet.check_seconds = 0.5;
  start(2, std::move(options));
  ASSERT_EQ(publish("policy-v1").status, 200);
  for (auto& stub : stubs_) stub->clear_adapters();
  EXPECT_EQ(complete("policy-v1").status, 200);
}

// The trainer waits hours after the generators died: a fatal error reaches it [NeMo-RL 3944, 3488].
TEST_F(ProxyTest, Fault44_WithoutServersRequestsFailSoonAndSayWhy) {
  auto options = fast();
  options.wait_seconds = 0.3;
  start(1, std::move(options));
  stubs_[0]->kill();
  ASSERT_TRUE(eventually([&] { return serving() == 0; }));
  const auto answer = complete("");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.get("Retry-After"), "1");
  EXPECT_THAT(answer.body, HasSubstr("no server serves (0.3 s waited)"));
  EXPECT_EQ(value_or_throw(client_.fetch(url_, get("/health"))).status, 503);
  EXPECT_EQ(publish("policy-v1").status, 409);
}

// Weights stream to a dead peer: recovered replicas are bound anew [NeMo-RL 3944].
TEST_F(ProxyTest, Fault48_ADeadServerHoldsNoPublicationUp) {
  start(2, fast());
  stubs_[0]->kill();
  EXPECT_EQ(publish("policy-v1").status, 200);
  EXPECT_EQ(stubs_[1]->adapters().size(), 1U);
  stubs_[0]->restart();
  EXPECT_TRUE(eventually([&] { return stubs_[0]->adapters().size() == 1; }));
}

TEST_F(ProxyTest, RequestsThatHadNotBegunGoToAnotherServer) {
  struct Case {
    const char* name;
    Fault fault;
    bool stream;
  };
  start(2, fast());
  for (const Case& c :
       {Case{"status 500", Fault::error_500, false}, Case{"garbage", Fault::garbage, false},
        Case{"half an answer", Fault::break_off, false}, Case{"status 500", Fault::error_500, true}}) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(eventually([&] { return serving() == 2; }));
    stubs_[0]->set_fault(c.fault);
    for (int prompt = 0; prompt < 4; ++prompt) EXPECT_EQ(complete("", 1000 * prompt, c.stream).status, 200);
    stubs_[0]->set_fault(Fault::none);
  }
  EXPECT_GT(metric("nereus_proxy_retries_total"), 0);
  EXPECT_EQ(metric("nereus_proxy_failed_total"), 0);
}

TEST_F(ProxyTest, AServerThatIsKilledLosesNoRequestThatHadNotBegun) {
  start(2, fast());
  for (auto& stub : stubs_) stub->set_fault(Fault::slow);
  EXPECT_EQ(answered_at_once(16,
                             [this] {
                               EXPECT_TRUE(eventually([&] { return stubs_[0]->running > 0; }));
                               stubs_[0]->kill();
                             }),
            16);
}

TEST_F(ProxyTest, AHungServerIsEjectedAndItsRequestsGoElsewhere) {
  start(2, fast());
  stubs_[0]->set_fault(Fault::hang);
  EXPECT_EQ(answered_at_once(4), 4);
  EXPECT_EQ(state(0), "ejected");
  stubs_[0]->set_fault(Fault::none);
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
}

TEST_F(ProxyTest, AStreamThatBreaksOffIsNotGivenAFalseEnd) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::break_off);
  test::RawSocket socket(server_->port());
  ASSERT_TRUE(ask_for_stream(socket));
  const std::string got = socket.receive_all();
  EXPECT_THAT(got, HasSubstr("\"i\": 2"));
  EXPECT_THAT(got, HasSubstr("data: {\"error\""));
  EXPECT_THAT(got, testing::Not(testing::EndsWith("0\r\n\r\n")));
}

TEST_F(ProxyTest, AServerWithAnotherBaseModelIsNotTakenBack) {
  start(2, fast());
  stubs_[0]->kill();
  ASSERT_TRUE(eventually([&] { return state(0) == "ejected"; }));
  stubs_[0]->set_base("base-0");
  stubs_[0]->restart();
  ASSERT_TRUE(eventually([&] {
    return health()["servers"][0]["last_failure"].get<std::string>().find(
               "its base model is base-0, and was base-1") != std::string::npos;
  }));
  EXPECT_NE(state(0), "serving");
  stubs_[0]->set_base("base-1");
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
}

}  // namespace
}  // namespace nereus::serving
