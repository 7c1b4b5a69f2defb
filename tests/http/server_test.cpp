#include "nereus/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/http/raw_socket.h"
#include "tests/http/test_server.h"

namespace nereus::http {
namespace {

using test::eventually;
using test::RawSocket;
using test::TestServer;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// What the handlers below saw.
struct Seen {
  std::atomic<int> left = 0, written = 0, running = 0;
};

Response echo(const Exchange& exchange, std::string body) {
  return {200, {{"X-Path", exchange.request().path()}}, std::move(body)};
}

Task<> stream(Exchange& exchange, int events) {
  Headers headers;
  headers.add("Content-Type", "text/event-stream");
  if (!co_await exchange.begin(200, headers)) co_return;
  for (int i = 0; i < events; ++i) {
    const std::string event = fmt::format("data: {}\n\n", i);
    if (!co_await exchange.write(event)) co_return;
  }
  (void)co_await exchange.end();
}

/// Writes until the client takes no more.
Task<> flood(Exchange& exchange, Seen& seen) {
  const std::string piece(64 << 10, 'x');
  if (!co_await exchange.begin(200, {})) co_return;
  while (co_await exchange.write(piece)) ++seen.written;
  ++seen.left;
}

Task<> wait_for_stop(Loop& loop, Exchange& exchange, Seen& seen) {
  ++seen.running;
  const auto stop = exchange.stop();
  if (!co_await loop.sleep(30, stop)) ++seen.left;
  --seen.running;
}

/// Answers by path.
Handler handler(Seen& seen, Loop*& loop) {
  return [&seen, &loop](Exchange& exchange) -> Task<> {
    const std::string path = exchange.request().path();
    if (path == "/stream") {
      co_await stream(exchange, 3);
    } else if (path == "/flood") {
      co_await flood(exchange, seen);
    } else if (path == "/wait") {
      co_await wait_for_stop(*loop, exchange, seen);
    } else if (path == "/throw") {
      throw std::runtime_error("broken");
    } else if (path == "/half") {
      (void)co_await exchange.begin(200, {});
      (void)co_await exchange.write("half");
    } else if (path == "/nothing") {
      co_return;
    } else if (path == "/unread") {
      Response response = text_response(200, "not read");
      (void)co_await exchange.respond(std::move(response));
    } else {
      auto body = co_await exchange.body();
      if (!body) co_return;
      Response response = echo(exchange, std::move(*body));
      (void)co_await exchange.respond(std::move(response));
    }
  };
}

class ServerTest : public testing::Test {
 protected:
  TestServer& start(ServerOptions options = {}) {
    server_ = std::make_unique<TestServer>(handler(seen_, loop_), std::move(options));
    loop_ = &server_->loop();
    return *server_;
  }
  std::string ask(std::string_view text) {
    RawSocket socket(server_->port());
    EXPECT_TRUE(socket.send(text));
    return socket.receive_all();
  }

  Seen seen_;
  Loop* loop_ = nullptr;
  std::unique_ptr<TestServer> server_;
};

TEST_F(ServerTest, AnswersAndKeepsTheConnection) {
  RawSocket socket(start().port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(socket.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"));
    EXPECT_EQ(socket.receive_until("hello"),
              "HTTP/1.1 200 OK\r\nX-Path: /a\r\nContent-Length: 5\r\n\r\nhello");
  }
  ASSERT_TRUE(socket.send("GET /b HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(socket.receive_all(), HasSubstr("Connection: close"));
  EXPECT_EQ(server_->server().stats().accepted, 1U);
  EXPECT_EQ(server_->server().stats().requests, 4U);
}

TEST_F(ServerTest, RequestsInARowAreAnsweredInTheirOrder) {
  start();
  const std::string got =
      ask("GET /1 HTTP/1.1\r\n\r\nGET /stream HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_LT(got.find("X-Path: /1"), got.find("data: 0"));
  EXPECT_LT(got.find("data: 2"), got.find("X-Path: /2"));
}

TEST_F(ServerTest, StreamsInChunks) {
  start();
  EXPECT_THAT(ask("GET /stream HTTP/1.1\r\nConnection: close\r\n\r\n"),
              EndsWith("9\r\ndata: 0\n\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
  // HTTP/1.0 knows no chunks.
  EXPECT_THAT(ask("GET /stream HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n"));
  EXPECT_THAT(ask("HEAD /stream HTTP/1.1\r\nConnection: close\r\n\r\n"), EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, AskedToContinueItDoes) {
  RawSocket socket(start().port());
  ASSERT_TRUE(socket.send("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(socket.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(socket.send("ok"));
  EXPECT_THAT(socket.receive_until("ok"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ServerTest, AHandlerThatGivesNoAnswerIsAnError) {
  start();
  for (const char* path : {"/nothing", "/throw"})
    EXPECT_THAT(ask(fmt::format("GET {} HTTP/1.1\r\n\r\n", path)), StartsWith("HTTP/1.1 500"));
  // What it began is not ended for it: the client sees that it broke off.
  EXPECT_THAT(ask("GET /half HTTP/1.1\r\n\r\n"), Not(HasSubstr("\r\n0\r\n")));
}

TEST_F(ServerTest, MalformedRequests) {
  start({.max_header_bytes = 1000, .max_body_bytes = 100});
  struct Case {
    std::string text;
    const char* status;
  };
  const Case cases[] = {
      {"nonsense\r\n\r\n", "400"},
      {"GET / HTTP/4.2\r\n\r\n", "505"},
      {"GET / HTTP/1.1\r\nX: " + std::string(2000, 'a') + "\r\n\r\n", "431"},
      {"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'a'), "413"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'a'), "413"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n", "400"},
  };
  for (const auto& c : cases) {
    const std::string got = ask(c.text);
    EXPECT_THAT(got, StartsWith(fmt::format("HTTP/1.1 {}", c.status))) << c.text.substr(0, 60);
    EXPECT_THAT(got, HasSubstr("Connection: close"));
  }
  EXPECT_THAT(ask("GET /fine HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, ABodyThatNobodyReadsDoesNotHideTheAnswer) {
  start();
  const std::string body(1 << 20, 'x');
  EXPECT_THAT(ask(fmt::format("POST /unread HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)),
              EndsWith("not read"));
}

TEST_F(ServerTest, TokensAreChecked) {
  start({.token = "secret"});
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\n\r\nGET /health HTTP/1.1\r\nConnection: close\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer"),
                             HasSubstr("HTTP/1.1 200")));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nAuthorization: Bearer wrong\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /%68ealth/../a HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, AClientThatLeavesStopsItsRequest) {
  start();
  for (const bool reset : {false, true}) {
    RawSocket socket(server_->port());
    ASSERT_TRUE(socket.send("GET /wait HTTP/1.1\r\n\r\n"));
    ASSERT_TRUE(eventually([&] { return seen_.running == 1; }));
    reset ? socket.reset() : socket.close();
    EXPECT_TRUE(eventually([&] { return seen_.running == 0; }));
  }
  EXPECT_EQ(seen_.left, 2);
}

TEST_F(ServerTest, ASlowReaderSlowsItsWriterAndIsGivenUp) {
  start({.write_seconds = 0.3});
  RawSocket socket(server_->port());
  socket.receive_little();
  ASSERT_TRUE(socket.send("GET /flood HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return seen_.left == 1; }));
  // What was written is what the buffers of the two sockets hold, and no more.
  EXPECT_LT(seen_.written, 200);
}

TEST_F(ServerTest, SlowHeadsAreGivenUpWhileOthersAreServed) {
  start({.header_seconds = 0.2, .body_seconds = 0.2});
  RawSocket head(server_->port()), body(server_->port());
  ASSERT_TRUE(head.send("GET / HTTP/1.1\r\nX: "));
  ASSERT_TRUE(body.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab"));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head.receive_all(), StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(body.receive_all(), StartsWith("HTTP/1.1 408"));
}

TEST_F(ServerTest, IdleConnectionsEnd) {
  start({.idle_seconds = 0.1});
  RawSocket socket(server_->port());
  EXPECT_EQ(socket.receive_all(), "");
  EXPECT_TRUE(eventually([&] { return server_->server().stats().connections == 0; }));
}

TEST_F(ServerTest, ManyIdleConnectionsKeepNobodyOut) {
  start({.max_connections = 50});
  std::vector<std::unique_ptr<RawSocket>> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(std::make_unique<RawSocket>(server_->port()));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(ask("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(server_->server().stats().connections, 60U);
}

TEST_F(ServerTest, ConnectionsThatAllWorkAreNotCutForANewOne) {
  start({.max_connections = 2});
  RawSocket one(server_->port()), two(server_->port());
  for (auto* socket : {&one, &two}) ASSERT_TRUE(socket->send("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return seen_.running == 2; }));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(seen_.left, 0);
}

TEST_F(ServerTest, StopsWhenRequestsHaveEnded) {
  start();
  RawSocket idle(server_->port()), busy(server_->port());
  ASSERT_TRUE(busy.send("POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return server_->server().stats().requests == 1; }));
  std::thread stopping([&] { server_->server().stop(5); });
  EXPECT_EQ(idle.receive_all(), "");
  ASSERT_TRUE(busy.send("ok"));
  EXPECT_THAT(busy.receive_all(), EndsWith("ok"));
  stopping.join();
  EXPECT_EQ(server_->server().stats().connections, 0U);
}

TEST_F(ServerTest, StopsRequestsThatDoNotEnd) {
  start();
  RawSocket busy(server_->port());
  ASSERT_TRUE(busy.send("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return seen_.running == 1; }));
  server_->server().stop(0.05);
  EXPECT_EQ(seen_.left, 1);
}

TEST(Server, AnAddressInUse) {
  Loop loop;
  const auto none = [](Exchange&) -> Task<> { co_return; };
  const auto first = value_or_throw(Server::start(loop, {}, none));
  ServerOptions options;
  options.port = first->port();
  const auto second = Server::start(loop, options, none);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be listened at: Address already in use"));
}

}  // namespace
}  // namespace nereus::http
