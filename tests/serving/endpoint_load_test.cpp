#include <atomic>
#include <chrono>
#include <thread>

#include "tests/http/raw_socket.h"
#include "tests/serving/endpoint_fixture.h"

namespace nereus::serving {
namespace {

using test::eventually;
using test::get;
using test::post;
using testing::HasSubstr;

// One failed generation kills the worker [trl 7176].
TEST_F(EndpointTest, Fault45_AFailedStepFailsItsRequestsAlone) {
  start();
  {
    const std::lock_guard lock(script_->mutex);
    script_->failing_steps = 1;
  }
  EXPECT_THAT(complete({{"prompt", {1}}}, 500)["error"]["message"].get<std::string>(),
              HasSubstr("the logits are not finite"));
  EXPECT_EQ(complete({{"prompt", {1}}})["choices"].size(), 1U);
  EXPECT_EQ(ask(get("/health")).status, 200);
}

// The trainer waits hours after the generators died: a fatal error reaches it [NeMo-RL 3488].
TEST_F(EndpointTest, Fault44_AnEngineThatKeepsFailingSaysSo) {
  start();
  {
    const std::lock_guard lock(script_->mutex);
    script_->failing_steps = 100;
  }
  complete({{"prompt", {1}}}, 500);
  EXPECT_TRUE(eventually([&] { return ask(get("/health")).status == 503; }));
  EXPECT_THAT(complete({{"prompt", {1}}}, 503)["error"]["message"].get<std::string>(),
              HasSubstr("the engine failed 3 times in a row"));
}

TEST_F(EndpointTest, AClientThatLeavesEndsItsRequestWithinAStep) {
  start();
  script_->step_seconds = 0.002;
  std::unique_lock held(script_->gate, std::defer_lock);
  {
    test::RawSocket socket(server_->port());
    const std::string body = R"({"prompt": [1], "max_tokens": 100000, "stream": true})";
    ASSERT_TRUE(socket.send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
    socket.receive_until("data:");
    held.lock();
  }
  // It is seen to have left while the step runs, not by a token that cannot be written.
  ASSERT_TRUE(eventually([&] { return server_->stats().connections == 0; }));
  const int before = steps();
  held.unlock();
  EXPECT_TRUE(eventually([&] { return engine_->stats().cancelled == 1 && engine_->stats().running == 0; }));
  EXPECT_LE(steps(), before + 1);  // perhaps one was about to begin
  const std::lock_guard lock(script_->mutex);
  EXPECT_EQ(script_->cancelled, 1);
}

/// A request whose client takes no more than the answer's head.
class DeafExchange final : public http::Exchange {
 public:
  explicit DeafExchange(std::string body) : body_(std::move(body)) {
    request_.method = "POST";
    request_.target = "/v1/completions";
  }
  const http::Request& request() const override { return request_; }
  bool trusted() const override { return true; }
  std::string peer() const override { return "nobody"; }
  http::Task<Result<std::string>> body() override { co_return body_; }
  http::Task<Result<std::string>> read_some() override { co_return ""; }
  http::Task<Status> respond(http::Response) override { co_return fail("lost"); }
  http::Task<Status> begin(int, http::Headers) override {
    begun_ = true;
    co_return Status();
  }
  http::Task<Status> write(std::string_view) override { co_return fail("lost"); }
  http::Task<Status> end() override { co_return fail("lost"); }
  void abort() override {}
  bool begun() const override { return begun_; }
  std::stop_token stop() const override { return {}; }

 private:
  http::Request request_;
  std::string body_;
  bool begun_ = false;
};

// The answer may be found to lead nowhere before the client is known to have left.
TEST_F(EndpointTest, ARequestWhoseAnswerCannotBeWrittenEnds) {
  start();
  script_->step_seconds = 0.002;
  DeafExchange exchange(R"({"prompt": [1], "max_tokens": 100000, "stream": true})");
  loop_.run(endpoint_->handle(exchange));
  EXPECT_TRUE(exchange.begun());
  EXPECT_TRUE(eventually([&] { return engine_->stats().cancelled == 1 && engine_->stats().running == 0; }));
}

// One who leaves while nothing is computed does not wait for that to end.
TEST_F(EndpointTest, AClientThatLeavesInAPauseIsGoneAtOnce) {
  start();
  ASSERT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
  {
    test::RawSocket socket(server_->port());
    const std::string body = R"({"prompt": [1], "max_tokens": 4})";
    ASSERT_TRUE(socket.send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
    ASSERT_TRUE(eventually([&] { return engine_->stats().running == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return engine_->stats().cancelled == 1 && engine_->stats().running == 0; }));
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  EXPECT_EQ(complete({{"prompt", {1}}, {"max_tokens", 2}})["choices"].size(), 1U);
}

TEST_F(EndpointTest, RequestsBeyondTheLimitAreTurnedAway) {
  start({}, {.max_requests = 1});
  script_->step_seconds = 0.002;
  test::RawSocket socket(server_->port());
  const std::string body = R"({"prompt": [1], "max_tokens": 100000})";
  ASSERT_TRUE(socket.send(
      fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)));
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 1; }));
  const auto answer = ask(post("/v1/completions", R"({"prompt": [1]})"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.get("Retry-After"), "1");
}

// Deadlock when pausing with many requests outstanding: pause works under full load [verl 7990].
TEST_F(EndpointTest, Fault6_PausesAndResumesUnderLoad) {
  start();
  const auto pace = [&](double seconds) {
    const std::lock_guard lock(script_->mutex);
    script_->step_seconds = seconds;
  };
  pace(0.05);  // all have come before the first ends
  std::vector<std::jthread> asking;
  std::atomic<int> whole = 0, aborted = 0;
  const auto ask_many = [&](int count) {
    for (int i = 0; i < count; ++i)
      asking.emplace_back([&] {
        test::TestClient client;
        const auto got = client.fetch(url_, post("/v1/completions", R"({"prompt": [1], "max_tokens": 60})"));
        ASSERT_TRUE(got);
        const std::string reason = Json::parse(got->body)["choices"][0]["finish_reason"];
        ++(reason == "length" ? whole : aborted);
      });
  };
  ask_many(24);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 24; }));
  ASSERT_EQ(ask(post("/pause?mode=keep", "")).status, 200);
  const int paused_at = steps();
  EXPECT_EQ(engine_->stats().running, 24U);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(steps(), paused_at);
  pace(0.001);
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  asking.clear();
  EXPECT_EQ(whole, 24);
  pace(0.05);
  ask_many(8);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running == 8; }));
  ASSERT_EQ(ask(post("/pause?mode=abort", "")).status, 200);
  asking.clear();
  EXPECT_EQ(aborted, 8);  // with the tokens that they had
  pace(0.001);
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  ask_many(8);
  ASSERT_TRUE(eventually([&] { return engine_->stats().running > 0; }));
  ASSERT_EQ(ask(post("/pause?mode=wait", "")).status, 200);
  const int ended = whole;
  EXPECT_LE(engine_->stats().running, static_cast<size_t>(32 - ended));  // those that came late wait
  ASSERT_EQ(ask(post("/resume", "")).status, 200);
  asking.clear();
  EXPECT_EQ(whole, 32);
}

/// Counts the ends of requests.
class CountingSink final : public CompletionSink {
 public:
  bool on_token(uint32_t, int32_t, float) override { return true; }
  void on_end(tl::expected<rollout::Group, Refusal> group) override { ended_ += group ? 1 : 0; }
  int ended() const { return ended_; }

 private:
  std::atomic<int> ended_ = 0;
};

TEST_F(EndpointTest, RequestsThatComeTogetherBeginTogether) {
  constexpr double kNever = 1e6;
  start({}, {.burst = {kNever, kNever}});
  const auto sink = std::make_shared<CountingSink>();
  rollout::Request request;
  request.prompt = {1};
  request.sampling.max_new_tokens = 3;
  for (int i = 0; i < 32; ++i) engine_->submit("", request, sink);
  engine_->resume();  // nobody waits behind a burst but requests
  EXPECT_TRUE(eventually([&] { return sink->ended() == 32; }));
  EXPECT_EQ(steps(), 3);
}

TEST_F(EndpointTest, Metrics) {
  start();
  complete({{"prompt", {1}}, {"max_tokens", 3}});
  EXPECT_TRUE(eventually([&] {
    const std::string page = ask(get("/metrics")).body;
    return page.find("nereus_serve_requests_total{result=\"finished\"} 1\n") != std::string::npos &&
           page.find(
               "# TYPE nereus_serve_generated_tokens_total counter\nnereus_serve_generated_tokens_total "
               "3\n") != std::string::npos;
  }));
}

}  // namespace
}  // namespace nereus::serving
