// What the proxy changes on all servers or on none.
#include "tests/serving/proxy_fixture.h"

namespace nereus::serving {
namespace {

TEST_F(ProxyTest, PublishesToAllServers) {
  start(3, fast());
  EXPECT_EQ(publish("policy-v1").status, 200);
  for (const auto& stub : stubs_)
    EXPECT_THAT(stub->adapters(), ElementsAre(Pair("policy-v1", "/bucket/policy-v1")));
  EXPECT_EQ(publish("policy-v1").status, 200);  // again, as after an answer that was lost
  EXPECT_EQ(complete("policy-v1").status, 200);
  EXPECT_THAT(ask(get("/v1/models")).body, HasSubstr("policy-v1"));
  EXPECT_EQ(withdraw("policy-v1").status, 200);
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), IsEmpty());
  EXPECT_EQ(complete("policy-v1").status, 404);
  EXPECT_EQ(withdraw("policy-v1").status, 409);
}

// Stuck in a model update: fail and name the peer [trl 3608].
TEST_F(ProxyTest, Fault4_ARefusedPublicationIsUndoneAndNamesTheServer) {
  start(3, fast());
  stubs_[1]->set_fault(Fault::refuse_loads);
  const auto answer = publish("policy-v1");
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body, HasSubstr(stubs_[1]->url().text() + " refused: status 400"));
  EXPECT_THAT(answer.body, HasSubstr("no such adapter on this disk"));
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), IsEmpty());
  EXPECT_EQ(complete("policy-v1").status, 404);
  EXPECT_EQ(serving(), 3U);
  stubs_[1]->set_fault(Fault::none);
  EXPECT_EQ(publish("policy-v1").status, 200);
}

/// "policy", from this folder, in the place of what has the name.
Json replacing(const std::string& path) {
  return {{"lora_name", "policy"}, {"lora_path", path}, {"load_inplace", true}};
}

TEST_F(ProxyTest, ReplacesAnAdapterInPlaceOnAllServers) {
  start(2, fast());
  EXPECT_EQ(load(replacing("/a")).status, 200);  // where there is none, it is loaded
  EXPECT_EQ(load(replacing("/b")).status, 200);
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), ElementsAre(Pair("policy", "/b")));
  EXPECT_THAT(ask(get("/v1/models")).body, HasSubstr("/b"));
  // Its files may have changed, and then nobody could undo it.
  const auto again = load(replacing("/b"));
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("each version needs a folder of its own"));
  for (const auto& stub : stubs_) EXPECT_EQ(stub->count("POST /v1/load_lora_adapter policy"), 2U);
  const auto unsaid = load({{"lora_name", "policy"}, {"lora_path", "/c"}});
  EXPECT_EQ(unsaid.status, 409);
  EXPECT_THAT(unsaid.body, HasSubstr("names carry the version"));
  EXPECT_EQ(complete("policy").status, 200);
}

TEST_F(ProxyTest, AReplacementThatAServerDoesNotKnowOfIsUndone) {
  start(2, fast());
  ASSERT_EQ(load(replacing("/a")).status, 200);
  stubs_[1]->set_fault(Fault::no_replacing);
  const auto refused = load(replacing("/b"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr(stubs_[1]->url().text() + " refused"));
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), ElementsAre(Pair("policy", "/a")));
  EXPECT_EQ(complete("policy").status, 200);
}

TEST_F(ProxyTest, AServerThatWasAwayWhenAnAdapterWasReplacedIsGivenTheNewOne) {
  start(2, fast());
  ASSERT_EQ(load(replacing("/a")).status, 200);
  stubs_[0]->set_fault(Fault::hang_loads);
  EXPECT_EQ(load(replacing("/b")).status, 200);
  EXPECT_NE(state(0), "serving");
  stubs_[0]->set_fault(Fault::none);  // it has kept the old one, under the same name
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
  EXPECT_THAT(stubs_[0]->adapters(), ElementsAre(Pair("policy", "/b")));
}

TEST_F(ProxyTest, ARefusedUnloadIsUndone) {
  start(2, fast());
  ASSERT_EQ(publish("policy-v1").status, 200);
  stubs_[0]->set_fault(Fault::refuse_unloads);
  EXPECT_EQ(withdraw("policy-v1").status, 409);
  for (const auto& stub : stubs_) EXPECT_EQ(stub->adapters().size(), 1U);
  EXPECT_EQ(complete("policy-v1").status, 200);
}

// A transfer hangs without an error: every wait has a deadline [trl 6796].
TEST_F(ProxyTest, Fault1_AServerThatHangsInALoadIsLeftBehind) {
  start(2, fast());
  stubs_[0]->set_fault(Fault::hang_loads);
  EXPECT_EQ(publish("policy-v1").status, 200);
  EXPECT_EQ(stubs_[1]->adapters().size(), 1U);
  EXPECT_NE(state(0), "serving");
  EXPECT_EQ(complete("policy-v1").status, 200);
  stubs_[0]->set_fault(Fault::none);
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
  EXPECT_EQ(stubs_[0]->adapters().size(), 1U);
}

// Update and sync race: changes come one at a time [verl 7423]; and a lock is never held while waiting for
// what only the holder can give [verl 7010].
TEST_F(ProxyTest, Fault5And7_ChangesComeOneAtATimeUnderLoad) {
  start(2, fast());
  std::atomic<bool> going = true;
  std::atomic<int> failed = 0, done = 0;
  std::vector<std::jthread> asking;
  for (int thread = 0; thread < 2; ++thread)
    asking.emplace_back([&] {
      while (going) {
        const auto got = ask_alone(post("/v1/completions", R"({"prompt": "hi", "model": "base"})"));
        ++(got && got->status == 200 ? done : failed);
      }
    });
  std::vector<std::jthread> changing;
  std::atomic<int> changed = 0;
  for (int thread = 0; thread < 3; ++thread)
    changing.emplace_back([&, thread] {
      for (int i = 0; i < 5; ++i) {
        const std::string name = fmt::format("policy-v{}", 10 * thread + i);
        for (const char* path : {"/v1/load_lora_adapter", "/v1/unload_lora_adapter"}) {
          const auto got = ask_alone(post(path, Json({{"lora_name", name}, {"lora_path", "/x"}}).dump()));
          changed += got && got->status == 200 ? 1 : 0;
        }
      }
    });
  changing.clear();
  going = false;
  asking.clear();
  EXPECT_EQ(changed, 30);
  EXPECT_EQ(failed, 0);  // no request fails because of a publication
  EXPECT_GT(done, 0);
  for (const auto& stub : stubs_) EXPECT_THAT(stub->adapters(), IsEmpty());
}

// Works for any number of servers, not two alone [trl 6797]; and for ever, not a few steps [trl 3157].
TEST_F(ProxyTest, Fault2And3_ManySyncsOfManyServers) {
  start(5, fast());
  for (int version = 1; version <= 40; ++version) {
    ASSERT_EQ(publish(fmt::format("policy-v{}", version)).status, 200) << version;
    if (version <= 4) continue;
    ASSERT_EQ(withdraw(fmt::format("policy-v{}", version - 4)).status, 200) << version;
  }
  for (const auto& stub : stubs_) EXPECT_EQ(stub->adapters().size(), 4U);
  EXPECT_EQ(metric("nereus_proxy_publications_total{result=\"published\"}"), 40);
}

// Deadlock when pausing with many requests outstanding: pause works under full load [verl 7990].
TEST_F(ProxyTest, Fault6_PausesUnderFullLoad) {
  start(2, fast());
  for (auto& stub : stubs_) stub->set_fault(Fault::slow);
  EXPECT_EQ(answered_at_once(32,
                             [this] {
                               EXPECT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
                               EXPECT_EQ(ask(post("/resume", "")).status, 200);
                             }),
            32);
  for (auto& stub : stubs_) EXPECT_EQ(stub->count("POST /pause"), 1U);
}

// Rollouts keep using the base model: requests name the exact version, or fail [ms-swift 9855].
TEST_F(ProxyTest, Fault10_AnUnknownVersionIsNeverServedByAnother) {
  start(2, fast());
  ASSERT_EQ(publish("policy-v2").status, 200);
  EXPECT_EQ(complete("policy-v1").status, 404);
  EXPECT_EQ(complete("policy-v3").status, 404);
  for (const auto& stub : stubs_) EXPECT_EQ(stub->completions, 0);
  EXPECT_THAT(complete("policy-v2").body, HasSubstr("\"model\":\"policy-v2\""));
}

TEST_F(ProxyTest, Fault14_AnAdapterInUseIsNotUnloaded) {
  // An adapter is deleted while still in use [prime-rl 2395].
  start(1, fast());
  ASSERT_EQ(publish("policy-v1").status, 200);
  stubs_[0]->set_fault(Fault::slow);
  std::jthread asking([&] {
    EXPECT_TRUE(
        ask_alone(post("/v1/completions", R"({"prompt": "hi", "model": "policy-v1", "stream": true})")));
  });
  ASSERT_TRUE(eventually([&] { return stubs_[0]->running == 1; }));
  const auto early = withdraw("policy-v1");  // the stream takes longer than the 0.2 s that are waited
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("1 requests still use it"));
  asking.join();
  EXPECT_EQ(withdraw("policy-v1").status, 200);
}

// A lock is held while waiting [verl 7010]: an unload waits for its last request, and nothing for the unload.
TEST_F(ProxyTest, Fault7_AnUnloadThatWaitsHoldsNoPublicationUp) {
  auto options = fast();
  options.drain_seconds = 30;
  start(1, options);
  ASSERT_EQ(publish("policy-v1").status, 200);
  stubs_[0]->set_fault(Fault::endless);
  std::stop_source stop;
  std::jthread asking([&] {
    http::CallOptions call;
    call.stop = stop.get_token();
    EXPECT_FALSE(ask_alone(post("/v1/completions", R"({"prompt": "hi", "model": "policy-v1"})"), call));
  });
  ASSERT_TRUE(eventually([&] { return stubs_[0]->running == 1; }));
  stubs_[0]->set_fault(Fault::none);
  std::atomic<int> unloaded = 0;
  std::jthread leaving([&] { unloaded = withdraw("policy-v1").status; });
  ASSERT_TRUE(eventually([&] { return complete("policy-v1").status == 404; }));
  EXPECT_EQ(publish("policy-v2").status, 200);
  EXPECT_EQ(publish("policy-v1").status, 409) << "it is being unloaded";
  EXPECT_EQ(unloaded, 0);
  stop.request_stop();
  leaving.join();
  EXPECT_EQ(unloaded, 200);
}

TEST_F(ProxyTest, AnAdapterThatIsGoneFromOneServerAndNotYetFromTheOtherIsNotLost) {
  start(2, fast());
  ASSERT_EQ(publish("policy-v1").status, 200);
  stubs_[1]->set_fault(Fault::slow_unloads);
  std::atomic<int> unloaded = 0;
  std::jthread leaving([&] {
    unloaded = ask_alone(post("/v1/unload_lora_adapter", R"({"lora_name": "policy-v1"})"))->status;
  });
  while (unloaded == 0) EXPECT_EQ(state(0), "serving");  // it is checked ten times meanwhile
  EXPECT_EQ(unloaded, 200);
}

// Load before unload exceeds the slots and evicts a live policy [trl 7017].
TEST_F(ProxyTest, Fault16_MoreAdaptersThanSlotsAreRefusedBeforeAnythingIsLoaded) {
  auto options = fast();
  options.fleet.adapter_slots = 2;
  start(1, std::move(options));
  ASSERT_EQ(publish("policy-v1").status, 200);
  ASSERT_EQ(publish("policy-v2").status, 200);
  const auto third = publish("policy-v3");
  EXPECT_EQ(third.status, 409);
  EXPECT_THAT(third.body, HasSubstr("2 adapter slots are full; unload one first"));
  EXPECT_EQ(stubs_[0]->count("POST /v1/load_lora_adapter policy-v3"), 0U);
}

TEST_F(ProxyTest, AProxyThatIsStartedAnewFindsWhatWasPublished) {
  start(2, fast());
  ASSERT_EQ(publish("policy-v4").status, 200);
  server_->stop(0);
  proxy_.reset();
  stubs_[1]->clear_adapters();
  auto options = fast();
  for (const auto& stub : stubs_) options.fleet.backends.push_back({stub->url(), BackendKind::vllm, "inner"});
  start_proxy(std::move(options));
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
  EXPECT_EQ(complete("policy-v4").status, 200);
  EXPECT_TRUE(eventually([&] { return stubs_[1]->adapters().size() == 1; }));
}

}  // namespace
}  // namespace nereus::serving
