#include "nereus/runtime/network_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace nereus::runtime {
namespace {

using ::testing::HasSubstr;

std::string at(const ProbeServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

TEST(NetworkProbe, MeasuresALoopback) {
  auto server = ProbeServer::listen(0);
  ASSERT_TRUE(server) << server.error().message;
  Status served;
  std::thread thread([&] { served = server->serve_one(); });
  const SteadyClock clock;
  const auto speed = probe_network(at(*server), 0.05, clock);
  thread.join();
  ASSERT_TRUE(speed) << speed.error().message;
  EXPECT_TRUE(served) << served.error().message;
  EXPECT_GT(speed->bandwidth, 1e7);
  EXPECT_GT(speed->latency, 0);
  EXPECT_LT(speed->latency, 0.1);
}

TEST(NetworkProbe, BadAddressesAndRefusedConnections) {
  const SteadyClock clock;
  EXPECT_THAT(probe_network("nowhere", 0.1, clock).error().message, HasSubstr("nowhere: expected HOST:PORT"));
  EXPECT_THAT(probe_network(":7000", 0.1, clock).error().message, HasSubstr("expected HOST:PORT"));
  uint16_t port = 0;
  {
    const auto server = ProbeServer::listen(0);
    ASSERT_TRUE(server);
    port = server->port();
    EXPECT_THAT(ProbeServer::listen(port).error().message, HasSubstr("in use"));
  }
  const auto refused = probe_network("127.0.0.1:" + std::to_string(port), 0.1, clock);
  EXPECT_THAT(refused.error().message, HasSubstr("refused"));
}

// Something else than a probe speaks to the port: it is told off, and the next one is served.
TEST(NetworkProbe, AStrangerIsRefusedAndTheNextIsServed) {
  auto server = ProbeServer::listen(0);
  ASSERT_TRUE(server);
  Status first, second;
  std::thread thread([&] {
    first = server->serve_one();
    second = server->serve_one();
  });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string hello = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::send(stranger, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  const SteadyClock clock;
  const auto speed = probe_network(at(*server), 0.02, clock);
  thread.join();
  ::close(stranger);
  EXPECT_TRUE(speed) << speed.error().message;
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message, HasSubstr("expected a probe"));
  EXPECT_TRUE(second) << second.error().message;
}

}  // namespace
}  // namespace nereus::runtime
