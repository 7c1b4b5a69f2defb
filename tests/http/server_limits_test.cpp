// Clients that mean no good: what they get, and that others are served meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "nereus/base/clock.h"
#include "tests/http/raw_socket.h"
#include "tests/http/test_server.h"

namespace nereus::http {
namespace {

using test::RawSocket;
using test::TestServer;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ServerLimitsTest : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<TestServer>(
        [](Exchange& exchange) -> Task<> {
          auto body = co_await exchange.body();
          if (!body) co_return;
          Response response = text_response(200, fmt::format("{} bytes", body->size()));
          (void)co_await exchange.respond(std::move(response));
        },
        std::move(options));
  }
  std::string ask(std::string_view text) {
    RawSocket socket(server_->port());
    socket.send(text);
    return socket.receive_all();
  }
  /// Sends `text` bit by bit, until it is refused or `seconds` have passed; what came back.
  std::string drip(std::string_view text, size_t step, double seconds) {
    RawSocket socket(server_->port());
    const SteadyClock clock;
    const double until = clock.now() + seconds;
    for (size_t at = 0; at < text.size() && clock.now() < until && !socket.readable(); at += step) {
      if (!socket.send(text.substr(at, step))) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return socket.receive_all();
  }

  std::unique_ptr<TestServer> server_;
};

TEST_F(ServerLimitsTest, TokensThatAreNearlyRight) {
  start({.token = "secret-token"});
  for (const char* field :
       {"", "Authorization: \r\n", "Authorization: Bearer\r\n", "Authorization: Bearer \r\n",
        "Authorization: secret-token\r\n", "Authorization: Basic secret-token\r\n",
        "Authorization: Bearer secret-toke\r\n", "Authorization: Bearer secret-token1\r\n",
        "Authorization: Bearer SECRET-TOKEN\r\n", "Authorization: Bearer Bearer secret-token\r\n",
        "X-Authorization: Bearer secret-token\r\n",
        // The first one counts, wherever another stands.
        "Authorization: Bearer wrong\r\nAuthorization: Bearer secret-token\r\n"}) {
    const std::string got =
        ask(fmt::format("GET /a?token=secret-token HTTP/1.1\r\n{}Connection: close\r\n\r\n", field));
    EXPECT_THAT(got, StartsWith("HTTP/1.1 401")) << field;
    EXPECT_THAT(got, Not(HasSubstr("secret-token"))) << field;
  }
  // Nor is a body taken from a stranger.
  EXPECT_THAT(
      ask("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'a')),
      StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nauthorization: bearer secret-token\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerLimitsTest, MalformedHeads) {
  start();
  struct Case {
    std::string text;
    const char* status;
  };
  const Case cases[] = {
      {std::string("GET /a\0b HTTP/1.1\r\n\r\n", 22), "400"},
      {std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26), "400"},
      {std::string("\0\0\0\0\r\n\r\n", 8), "400"},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\r\n\r\n", 14), "400"},  // a TLS greeting
      {"GET / HTTP/1.1\r\n: no name\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nX(: a\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: 1,2\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", "413"},
      {"GET / HTTP/1.1\r\n" + std::string(70000, 'a') + ": b\r\n\r\n", "431"},
  };
  for (const auto& c : cases) {
    const std::string got = ask(c.text);
    EXPECT_THAT(got, StartsWith(fmt::format("HTTP/1.1 {}", c.status))) << c.text.substr(0, 60);
    EXPECT_THAT(got, HasSubstr("Connection: close")) << c.text.substr(0, 60);
  }
  std::string many = "GET / HTTP/1.1\r\nConnection: close\r\n";
  for (int i = 0; i < 20000; ++i) many += "a: b\r\n";
  EXPECT_THAT(ask(many + "\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(ask("GET /fine HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerLimitsTest, AHeadThatDripsIsGivenUp) {
  start({.header_seconds = 0.3});
  const SteadyClock clock;
  const double begin = clock.now();
  EXPECT_THAT(drip("GET / HTTP/1.1\r\nX: " + std::string(1000, 'a'), 1, 10), StartsWith("HTTP/1.1 408"));
  EXPECT_LT(clock.now() - begin, 3);
}

TEST_F(ServerLimitsTest, ABodyThatDripsIsGivenUpAndASlowOneIsNot) {
  start({.body_seconds = 1, .min_body_rate = 1000});
  const SteadyClock clock;
  const double begin = clock.now();
  const std::string head = "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: ";
  EXPECT_THAT(drip(head + "900\r\n\r\n" + std::string(900, 'a'), 1, 10), StartsWith("HTTP/1.1 408"));
  EXPECT_LT(clock.now() - begin, 10);  // of the 18 that it would take
  // Longer than body_seconds, at a rate that will do.
  EXPECT_THAT(drip(head + "8000\r\n\r\n" + std::string(8000, 'a'), 100, 10), EndsWith("8000 bytes"));
}

TEST_F(ServerLimitsTest, ThousandsOfIdleConnectionsWhileOthersAreServed) {
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr size_t kClients = 2000;
  if (limit.rlim_cur < 2 * kClients + 100) GTEST_SKIP() << "needs " << 2 * kClients + 100 << " files at once";
  start();
  std::vector<std::unique_ptr<RawSocket>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawSocket>(server_->port()));
    if (i % 3 == 1) clients.back()->send("GET / HTTP/1.1\r\nX: ");
    if (i % 3 == 2) clients.back()->send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab");
  }
  const SteadyClock clock;
  const double begin = clock.now();
  for (int i = 0; i < 20; ++i)
    EXPECT_THAT(ask("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(clock.now() - begin, 2);
  EXPECT_GE(server_->server().stats().connections, kClients);
}

}  // namespace
}  // namespace nereus::http
