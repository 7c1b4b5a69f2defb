#include "nereus/serving/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/http/raw_socket.h"
#include "tests/serving/stub_backend.h"

namespace nereus::serving {
namespace {

using test::eventually;
using test::get;
using test::post;
using test::StubBackend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using Fault = StubBackend::Fault;

/// Stub servers behind a proxy, and a client before it.
class ProxyTest : public testing::Test {
 protected:
  ~ProxyTest() override {
    if (server_) server_->stop(0);
    proxy_.reset();
  }

  ProxyOptions fast() {
    ProxyOptions options;
    options.fleet.check_seconds = 0.05;
    options.fleet.answer_seconds = 0.3;
    options.fleet.load_seconds = 1;
    options.fleet.failures = 2;
    options.wait_seconds = 3;
    options.drain_seconds = 0.2;
    return options;
  }

  void start(size_t count, ProxyOptions options, BackendKind kind = BackendKind::vllm) {
    for (size_t i = 0; i < count; ++i) {
      stubs_.push_back(std::make_unique<StubBackend>());
      options.fleet.backends.push_back({stubs_.back()->url(), kind, "inner"});
    }
    start_proxy(std::move(options));
    ASSERT_TRUE(eventually([&] { return serving() == count; }));
  }
  void start_proxy(ProxyOptions options) {
    proxy_ = std::make_unique<Proxy>(loop_, std::move(options));
    proxy_->start();
    http::ServerOptions server_options;
    server_options.token = "outer";
    server_ = value_or_throw(http::Server::start(
        loop_, server_options,
        [this](http::Exchange& exchange) -> http::Task<> { co_await proxy_->handle(exchange); }));
    url_ = value_or_throw(http::Url::parse(server_->url()));
  }

  http::Response ask(http::Request request) {
    request.headers.set("Authorization", "Bearer outer");
    return value_or_throw(client_.fetch(url_, std::move(request)));
  }
  Json health() { return Json::parse(ask(get("/health")).body); }
  std::string state(size_t i) { return health()["servers"][i]["state"]; }
  size_t serving() {
    size_t found = 0;
    const Json page = health();
    for (const auto& server : page["servers"]) found += server["state"] == "serving" ? 1 : 0;
    return found;
  }
  http::Response complete(const std::string& model, int32_t first_token = 0, bool stream = false) {
    Json body = {{"prompt", Json::array()}, {"stream", stream}};
    for (int32_t i = 0; i < 40; ++i) body["prompt"].push_back(first_token + i);
    if (!model.empty()) body["model"] = model;
    return ask(post("/v1/completions", body.dump()));
  }
  http::Response publish(const std::string& name) {
    return ask(
        post("/v1/load_lora_adapter", Json({{"lora_name", name}, {"lora_path", "/bucket/" + name}}).dump()));
  }
  http::Response withdraw(const std::string& name) {
    return ask(post("/v1/unload_lora_adapter", Json({{"lora_name", name}}).dump()));
  }
  double metric(const std::string& name) {
    const std::string page = ask(get("/metrics")).body;
    const size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }

  http::Loop loop_;
  std::vector<std::unique_ptr<StubBackend>> stubs_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<http::Server> server_;
  test::TestClient client_;
  http::Url url_;
};

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
  for (const char* name : {"", "../x", "a/b", ".a"}) EXPECT_EQ(publish(name).status, 409) << name;
  EXPECT_EQ(ask(post("/pause?mode=never", "")).status, 409);
  EXPECT_THAT(stubs_[0]->adapters(), IsEmpty());
}

TEST_F(ProxyTest, StreamsPassThroughAsTheyCome) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::slow);
  test::RawSocket socket(server_->port());
  const std::string body = R"({"prompt": "hello", "stream": true})";
  ASSERT_TRUE(
      socket.send(fmt::format("POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\n"
                              "Content-Length: {}\r\n\r\n{}",
                              body.size(), body)));
  EXPECT_THAT(socket.receive_until("\"i\": 0"), HasSubstr("Content-Type: text/event-stream"));
  EXPECT_EQ(stubs_[0]->running, 1);  // the rest has not been made yet
  EXPECT_THAT(socket.receive_until("[DONE]"), HasSubstr("\"i\": 4"));
}

TEST_F(ProxyTest, AClientThatLeavesFreesTheServer) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::slow);
  {
    test::RawSocket socket(server_->port());
    const std::string body = R"({"prompt": "hello", "stream": true})";
    ASSERT_TRUE(
        socket.send(fmt::format("POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\n"
                                "Content-Length: {}\r\n\r\n{}",
                                body.size(), body)));
    socket.receive_until("\"i\": 0");
  }
  EXPECT_TRUE(eventually([&] { return stubs_[0]->abandoned == 1 && stubs_[0]->running == 0; }));
  EXPECT_EQ(state(0), "serving");  // which is no fault of the server
}

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
    asking.emplace_back([&, thread] {
      test::TestClient client;
      while (going) {
        http::Request request = post("/v1/completions", R"({"prompt": "hi", "model": "base"})");
        request.headers.set("Authorization", "Bearer outer");
        const auto got = client.fetch(url_, std::move(request));
        ++(got && got->status == 200 ? done : failed);
      }
    });
  std::vector<std::jthread> changing;
  std::atomic<int> changed = 0;
  for (int thread = 0; thread < 3; ++thread)
    changing.emplace_back([&, thread] {
      test::TestClient client;
      for (int i = 0; i < 5; ++i) {
        const std::string name = fmt::format("policy-v{}", 10 * thread + i);
        for (const char* path : {"/v1/load_lora_adapter", "/v1/unload_lora_adapter"}) {
          http::Request request = post(path, Json({{"lora_name", name}, {"lora_path", "/x"}}).dump());
          request.headers.set("Authorization", "Bearer outer");
          const auto got = client.fetch(url_, std::move(request));
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
  std::vector<std::jthread> asking;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 32; ++i)
    asking.emplace_back([&] {
      test::TestClient client;
      http::Request request = post("/v1/completions", R"({"prompt": "hi"})");
      request.headers.set("Authorization", "Bearer outer");
      const auto got = client.fetch(url_, std::move(request));
      answered += got && got->status == 200 ? 1 : 0;
    });
  EXPECT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
  EXPECT_EQ(ask(post("/resume", "")).status, 200);
  asking.clear();
  EXPECT_EQ(answered, 32);
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
    test::TestClient client;
    http::Request request =
        post("/v1/completions", R"({"prompt": "hi", "model": "policy-v1", "stream": true})");
    request.headers.set("Authorization", "Bearer outer");
    EXPECT_TRUE(client.fetch(url_, std::move(request)));
  });
  ASSERT_TRUE(eventually([&] { return stubs_[0]->running == 1; }));
  const auto early = withdraw("policy-v1");  // the stream takes longer than the 0.2 s that are waited
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("1 requests still use it"));
  asking.join();
  EXPECT_EQ(withdraw("policy-v1").status, 200);
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
  std::vector<std::jthread> asking;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 16; ++i)
    asking.emplace_back([&, i] {
      test::TestClient client;
      http::Request request = post("/v1/completions", fmt::format(R"({{"prompt": "{}"}})", i));
      request.headers.set("Authorization", "Bearer outer");
      const auto got = client.fetch(url_, std::move(request));
      answered += got && got->status == 200 ? 1 : 0;
    });
  ASSERT_TRUE(eventually([&] { return stubs_[0]->running > 0; }));
  stubs_[0]->kill();
  asking.clear();
  EXPECT_EQ(answered, 16);
}

TEST_F(ProxyTest, AHungServerIsEjectedAndItsRequestsGoElsewhere) {
  start(2, fast());
  stubs_[0]->set_fault(Fault::hang);
  std::vector<std::jthread> asking;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 4; ++i)
    asking.emplace_back([&, i] {
      test::TestClient client;
      http::Request request = post("/v1/completions", fmt::format(R"({{"prompt": "{}"}})", i));
      request.headers.set("Authorization", "Bearer outer");
      const auto got = client.fetch(url_, std::move(request));
      answered += got && got->status == 200 ? 1 : 0;
    });
  asking.clear();
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(state(0), "ejected");
  stubs_[0]->set_fault(Fault::none);
  EXPECT_TRUE(eventually([&] { return serving() == 2; }));
}

TEST_F(ProxyTest, AStreamThatBreaksOffIsNotGivenAFalseEnd) {
  start(1, fast());
  stubs_[0]->set_fault(Fault::break_off);
  test::RawSocket socket(server_->port());
  const std::string body = R"({"prompt": "hello", "stream": true})";
  ASSERT_TRUE(
      socket.send(fmt::format("POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\n"
                              "Content-Length: {}\r\n\r\n{}",
                              body.size(), body)));
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
