#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "nereus/base/clock.h"
#include "nereus/http/client.h"
#include "tests/http/raw_socket.h"
#include "tests/http/test_server.h"
#include "tests/integration/processes.h"

namespace nereus::integration {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Serve : public Processes {};

TEST_F(Serve, TrainsWithAServerInAnotherProcess) {
  const Server server = serve("server");
  Command job(scratch_.path().string(), train(server.url));
  EXPECT_EQ(job.wait(), 0) << job.err();
  expect_whole_run(run(), 12);
  // The newest versions stay in the bucket, older ones are gone.
  std::set<std::string> versions;
  for (const auto& entry : fs::directory_iterator(bucket()))
    versions.insert(entry.path().filename().string());
  // The last step's samples are at most two steps old; newer policies may not have been needed any more.
  EXPECT_TRUE(std::ranges::any_of(std::vector{"9", "10", "11", "12"}, [&](const std::string& number) {
    return versions.contains("policy-v" + number);
  }));
  EXPECT_FALSE(versions.contains("policy-v0"));
  // What the server says of its samples is what the trainer makes of them under the same policy.
  for (const auto& line : runtime::lines_of(run() / "metrics.jsonl")) {
    EXPECT_LT(line["sampling/same_policy/logp_difference/max"].get<double>(), 1e-4);
    EXPECT_NEAR(line["sampling/same_policy/importance_ratio/mean"].get<double>(), 1, 1e-4);
  }
  server.process->signal(SIGTERM);
  EXPECT_EQ(server.process->wait(), 0) << server.process->err();
}

TEST_F(Serve, AServerKilledAndStartedAgainIsGivenItsAdapters) {
  // Fault 17: a restarted server has lost its adapters [prime-rl 1564].
  Server server = serve("server");
  const std::string port = server.port();
  Command job(scratch_.path().string(), train(server.url, {"--run.steps", "40"}));
  ASSERT_TRUE(reached(run(), 4)) << job.err();
  server.kill();
  server = serve("server", port);
  EXPECT_EQ(job.wait(), 0) << job.err();
  expect_whole_run(run(), 40);
}

// With no server left a run waits for ten minutes before it gives up; who presses Ctrl-C has waited enough.
TEST_F(Serve, AnInterruptEndsARunWhoseServersAreGone) {
  Server server = serve("server");
  const std::string port = server.port();
  int64_t steps = 0;
  for (const int gone : {SIGKILL, SIGSTOP}) {
    std::vector<std::string> arguments = train(server.url, {"--run.steps", "100000"});
    if (steps > 0) arguments.emplace_back("--resume");
    Command job(scratch_.path().string(), arguments);
    ASSERT_TRUE(reached(run(), static_cast<size_t>(steps) + 4)) << job.err();
    server.process->signal(gone);
    std::this_thread::sleep_for(std::chrono::seconds(2));  // until what was sampled is trained
    const SteadyClock clock;
    const Stopwatch watch(clock);
    job.signal(SIGINT);
    EXPECT_EQ(job.wait(60), 130) << job.err();
    EXPECT_LT(watch.seconds(), 3);
    steps = std::ssize(runtime::lines_of(run() / "metrics.jsonl"));
    if (gone == SIGKILL) server = serve("server", port);
    if (gone == SIGSTOP) server.process->signal(SIGCONT);
  }
  Command job(scratch_.path().string(),
              train(server.url, {"--run.steps", std::to_string(steps + 2), "--resume"}));
  EXPECT_EQ(job.wait(), 0) << job.err();
  expect_whole_run(run(), steps + 2);
}

TEST_F(Serve, ATrainerKilledAndResumedNeverPublishesBackwards) {
  // Fault 40: staleness has no bound after a resume [AReaL 1388].
  const Server server = serve("server");
  std::vector<std::string> arguments = train(server.url, {"--run.steps", "40"});
  // Each life leaves three versions on the server, which has eight slots: the next life needs them.
  for (const size_t steps : {4U, 8U, 12U, 16U}) {
    Command job(scratch_.path().string(), arguments);
    ASSERT_TRUE(reached(run(), steps)) << job.err();
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 128 + SIGKILL);
    if (steps == 4) arguments.emplace_back("--resume");
  }
  Command job(scratch_.path().string(), arguments);
  EXPECT_EQ(job.wait(), 0) << job.err();
  expect_whole_run(run(), 40);
}

TEST_F(Serve, TwoServersBehindAProxy) {
  const Server a = serve("a"), b = serve("b");
  const Server front = proxy({&a, &b});
  Command job(scratch_.path().string(), train(front.url));
  EXPECT_EQ(job.wait(), 0) << job.err();
  expect_whole_run(run(), 12);
}

TEST_F(Serve, AnswersByOpenAisApi) {
  const Server server = serve("server");
  http::Loop loop;
  http::Client client(loop);
  const auto ask = [&](const char* method, const char* path, const OrderedJson& body) {
    const auto url = value_or_throw(http::Url::parse(server.url));
    return value_or_throw(loop.run(client.fetch(url, http::json_request(method, path, body))));
  };
  const auto answer =
      ask("POST", "/v1/completions", {{"prompt", {5, 6, 7}}, {"max_tokens", 4}, {"seed", 1}, {"n", 2}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto again =
      ask("POST", "/v1/completions", {{"prompt", {5, 6, 7}}, {"max_tokens", 4}, {"seed", 1}, {"n", 2}});
  EXPECT_EQ(Json::parse(answer.body)["choices"], Json::parse(again.body)["choices"]);
  const auto chat = ask("POST", "/v1/chat/completions",
                        {{"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"max_tokens", 3}});
  EXPECT_EQ(chat.status, 200) << chat.body;
  EXPECT_EQ(ask("POST", "/v1/completions", {{"prompt", {5}}, {"model", "policy-v9"}}).status, 404);
  EXPECT_EQ(ask("POST", "/v1/completions", {{"prompt", {999999}}}).status, 400);
}

/// Sends requests for as many tokens as the model's context holds, and waits for the first.
std::vector<std::unique_ptr<test::RawSocket>> ask_for_much(const std::string& port, int requests) {
  const std::string body =
      R"({"prompt": [5], "max_tokens": 120, "n": 64, "ignore_eos": true, "stream": true})";
  const std::string text =
      fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
  std::vector<std::unique_ptr<test::RawSocket>> sockets;
  for (int i = 0; i < requests; ++i) {
    sockets.push_back(std::make_unique<test::RawSocket>(static_cast<uint16_t>(std::stoi(port)), 30));
    EXPECT_TRUE(sockets.back()->send(text));
  }
  EXPECT_THAT(sockets.front()->receive_until("data:"), HasSubstr("data:"));
  return sockets;
}

// The engine is in the middle of a step when nobody is left to be told of its tokens.
TEST_F(Serve, EndsWhileRequestsRun) {
  for (int i = 0; i < 3; ++i) {
    const Server server = start("server", {"serve", (scratch_.path() / "tiny").string(), "--port", "0",
                                           "--threads", "1", "--grace", "0"});
    const auto sockets = ask_for_much(server.port(), 16);
    server.process->signal(SIGTERM);
    EXPECT_EQ(server.process->wait(), 0) << server.process->err();
  }
}

TEST_F(Serve, ASecondSignalEndsAProxyAtOnce) {
  const Server front =
      start("proxy", {"proxy", "--port", "0", "--backend", "http://127.0.0.1:1", "--grace", "600"});
  const auto port = static_cast<uint16_t>(std::stoi(front.port()));
  test::RawSocket waits(port), next(port);
  ASSERT_TRUE(waits.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{"));
  // Connections are served in the order in which something came: once this is answered, the one before is
  // read.
  ASSERT_TRUE(next.send("GET /metrics HTTP/1.1\r\n\r\n"));
  ASSERT_THAT(next.receive_until("200 OK"), HasSubstr("200 OK"));
  front.process->signal(SIGTERM);
  ASSERT_TRUE(test::eventually([&] { return front.process->out().find("once more") != std::string::npos; }));
  front.process->signal(SIGTERM);
  EXPECT_EQ(front.process->wait(10), 128 + SIGTERM) << front.process->err();
}

TEST_F(Serve, BadCommandsAreRefused) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"serve", "nowhere"}, "nowhere"},
      {{"serve", (scratch_.path() / "tiny").string(), "--adapter", "x"}, "NAME=FOLDER"},
      {{"serve", (scratch_.path() / "tiny").string(), "--adapter", "x=nowhere"}, "nowhere"},
      {train("ftp://x"), "async.server"},
      {train("http://127.0.0.1:1", {"--async.stall_seconds", "0.5"}), "127.0.0.1:1"},
  };
  for (const auto& [arguments, message] : cases) {
    Command command(scratch_.path().string(), arguments);
    const auto code = command.wait();
    ASSERT_TRUE(code);
    EXPECT_NE(*code, 0);
    EXPECT_THAT(command.err(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace nereus::integration
