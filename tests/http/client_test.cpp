#include "nereus/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "nereus/base/clock.h"
#include "tests/http/raw_socket.h"
#include "tests/http/slow_names.h"
#include "tests/http/test_server.h"

namespace nereus::http {
namespace {

using test::eventually;
using test::get;
using test::post;
using test::TestClient;
using test::TestServer;
using testing::HasSubstr;

const std::string kGolden = std::string(NEREUS_SOURCE_DIR) + "/tests/golden/http/";

Task<> answer(Loop* loop, Exchange& exchange, std::atomic<int>* left) {
  const std::string path = exchange.request().path();
  if (path == "/hang") {
    const auto stop = exchange.stop();
    if (!co_await loop->sleep(30, stop)) ++*left;
    co_return;
  }
  if (path == "/stall" || path == "/break") {
    (void)co_await exchange.begin(200, {});
    (void)co_await exchange.write("half");
    if (path == "/break") co_return;
    const auto stop = exchange.stop();
    if (!co_await loop->sleep(30, stop)) ++*left;
    co_return;
  }
  auto body = co_await exchange.body();
  if (!body) co_return;
  Response response = text_response(path == "/missing" ? 404 : 200, path + ":" + *body);
  (void)co_await exchange.respond(std::move(response));
}

class ClientTest : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<TestServer>(
        [this](Exchange& exchange) -> Task<> { co_await answer(&server_->loop(), exchange, &left_); },
        std::move(options));
  }
  std::string error(std::string target, CallOptions options = {}) {
    const auto got = client_.fetch(server_->url(), get(std::move(target)), std::move(options));
    return got ? "" : got.error().message;
  }

  std::atomic<int> left_ = 0;
  std::unique_ptr<TestServer> server_;
  TestClient client_;
};

TEST_F(ClientTest, FetchesOverOneConnection) {
  start();
  for (int i = 0; i < 5; ++i) {
    const auto got = value_or_throw(client_.fetch(server_->url(), post("/a", "hello")));
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, "/a:hello");
  }
  EXPECT_EQ(value_or_throw(client_.fetch(server_->url(), get("/missing"))).status, 404);
  EXPECT_EQ(server_->server().stats().accepted, 1U);
}

TEST_F(ClientTest, LargeBodiesBothWays) {
  start();
  std::string body(20 << 20, 'x');
  body[12345678] = 'y';
  EXPECT_EQ(value_or_throw(client_.fetch(server_->url(), post("/a", body))).body, "/a:" + body);
}

TEST_F(ClientTest, ABodyInPieces) {
  start();
  const auto send = [](Client& client, Url url) -> Task<Result<std::string>> {
    int left = 3;
    const BodySource source = [&left]() -> Task<Result<std::string>> {
      co_return left-- > 0 ? fmt::format("{},", left) : std::string();
    };
    Request request{"POST", "/p", {}, ""};
    auto got = co_await client.send(url, request, source, CallOptions());
    if (!got) co_return pass(got);
    co_return co_await (*got)->body();
  };
  EXPECT_EQ(value_or_throw(client_.loop().run(send(client_.client(), server_->url()))), "/p:2,1,0,");
}

// A transfer that hangs without an error: every wait has a deadline and says what it waited for [trl 6796].
TEST_F(ClientTest, Fault1_EveryWaitHasADeadline) {
  start();
  EXPECT_THAT(error("/hang", {.head_seconds = 0.1}), HasSubstr("no answer within 0.1 s"));
  EXPECT_THAT(error("/stall", {.piece_seconds = 0.1}),
              HasSubstr("the answer stopped: nothing came for 0.1 s"));
  EXPECT_THAT(error("/hang", {.total_seconds = 0.1}), HasSubstr("no answer within"));
  // The server learns that nobody waits any more.
  EXPECT_TRUE(eventually([&] { return left_ == 3; }));
}

TEST_F(ClientTest, AnAnswerThatBreaksOffIsNoAnswer) {
  start();
  EXPECT_THAT(error("/break"), HasSubstr("the answer broke off"));
  EXPECT_THAT(error("/a", {.max_body_bytes = 2}), HasSubstr("larger than 2 bytes"));
}

TEST_F(ClientTest, StopsFromAnotherThread) {
  start();
  std::stop_source stop;
  CallOptions options;
  options.stop = stop.get_token();
  std::thread stopping([&] {
    eventually([&] { return server_->server().stats().requests == 1; });
    stop.request_stop();
  });
  EXPECT_THAT(error("/hang", options), HasSubstr("given up"));
  stopping.join();
  EXPECT_TRUE(eventually([&] { return left_ == 1; }));
}

TEST_F(ClientTest, NobodyThere) {
  uint16_t port = 0;
  {
    start();
    port = server_->port();
    server_.reset();
  }
  const auto url = value_or_throw(Url::parse(fmt::format("http://127.0.0.1:{}", port)));
  const auto got = client_.fetch(url, get("/"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr(fmt::format("127.0.0.1:{}: Connection refused", port)));
}

TEST_F(ClientTest, AServerThatClosedAnIdleConnectionIsAskedOnANewOne) {
  start({.idle_seconds = 0.05});
  ASSERT_TRUE(client_.fetch(server_->url(), get("/a")));
  ASSERT_TRUE(eventually([&] { return server_->server().stats().connections == 0; }));
  EXPECT_TRUE(client_.fetch(server_->url(), get("/b")));
  EXPECT_EQ(server_->server().stats().accepted, 2U);
}

// A system's name server that does not answer would hold a request up for a quarter of a minute.
TEST(Client, ASlowNameTakesNoLongerThanTheLimit) {
  TestClient client({.connect_seconds = 0.2}), patient;
  const test::SlowNames slow;  // ends before the clients, whose loops wait for the system
  const SteadyClock clock;
  const Stopwatch watch(clock);
  const auto url = value_or_throw(Url::parse("http://server.slow:80"));
  const auto late = client.fetch(url, get("/"));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("server.slow:80: no connection within 0.2 s"));
  std::stop_source stop;
  CallOptions options;
  options.stop = stop.get_token();
  std::thread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto stopped = patient.fetch(url, get("/"), options);
  stopping.join();
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("given up"));
  EXPECT_LT(watch.seconds(), 10);  // each look-up takes 20 s
}

// A connection that waits in the pool goes with whatever is destroyed last.
TEST(Client, MayOutliveItsLoopsThread) {
  TestServer server(
      [](Exchange& exchange) -> Task<> { (void)co_await exchange.respond(text_response(200, "here")); });
  auto loop = std::make_unique<Loop>();
  auto client = std::make_unique<Client>(*loop);
  EXPECT_EQ(value_or_throw(loop->run(client->fetch(server.url(), get("/")))).body, "here");
  loop->close();
  client.reset();
  loop.reset();
}

TEST(Client, GarbageIsAnError) {
  struct Case {
    const char* answer;
    const char* error;
  };
  for (const Case& c :
       {Case{"what?\r\n\r\n", "expected HTTP/1.0 or HTTP/1.1"},
        Case{"HTTP/1.1 99999 x\r\n\r\n", "malformed HTTP"}, Case{"", "no answer: the peer closed"},
        Case{"HTTP/1.1 200 OK\r\nContent-Le", "no answer"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "malformed HTTP"}}) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::listen(listener, 8);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    std::thread liar([&] {
      const int fd = ::accept(listener, nullptr, nullptr);
      char request[4096];
      (void)!::recv(fd, request, sizeof request, 0);
      (void)!::send(fd, c.answer, std::strlen(c.answer), MSG_NOSIGNAL);
      ::close(fd);
    });
    TestClient client;
    const auto url = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    const auto got = client.fetch(value_or_throw(Url::parse(url)), get("/"));
    liar.join();
    ::close(listener);
    ASSERT_FALSE(got) << c.answer;
    EXPECT_THAT(got.error().message, HasSubstr(c.error));
  }
}

TEST(Tls, OnlyToTheNamedServer) {
  ServerOptions options;
  options.certificate = kGolden + "certificate.pem";
  options.key = kGolden + "key.pem";
  std::atomic<int> left = 0;
  TestServer server([&](Exchange& exchange) -> Task<> { co_await answer(nullptr, exchange, &left); },
                    options);
  TestClient trusting({.authorities = kGolden + "certificate.pem"});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(value_or_throw(trusting.fetch(server.url(), post("/a", std::string(300000, 'b')))).body.size(),
              300003U);
  EXPECT_EQ(server.server().stats().accepted, 1U);
  TestClient strict;
  const auto got = strict.fetch(server.url(), get("/a"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("TLS: certificate verify failed"));
  // A client that speaks no TLS, and one that says nothing, do no harm.
  test::RawSocket plain(server.port()), silent(server.port());
  ASSERT_TRUE(plain.send("GET / HTTP/1.1\r\n\r\n"));
  plain.receive_all();
  EXPECT_TRUE(trusting.fetch(server.url(), get("/a")));
}

TEST(Tls, FilesThatAreNone) {
  Loop loop;
  ServerOptions options;
  options.certificate = kGolden + "make.sh";
  options.key = kGolden + "key.pem";
  const auto server = Server::start(loop, options, [](Exchange&) -> Task<> { co_return; });
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("make.sh: no certificate in PEM format"));
}

}  // namespace
}  // namespace nereus::http
