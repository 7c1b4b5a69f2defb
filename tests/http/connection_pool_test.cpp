#include "nereus/http/connection_pool.h"

#include <gtest/gtest.h>

#include "tests/http/test_server.h"

namespace nereus::http {
namespace {

/// Connections to a server, and a pool for them on the same loop.
class ConnectionPoolTest : public testing::Test {
 protected:
  ConnectionPoolTest() : server_([](Exchange&) -> Task<> { co_return; }) {
    for (int i = 0; i < 3; ++i) connections_.push_back(loop_.run(open(loop_, server_.port())));
  }
  ~ConnectionPoolTest() override {
    on_loop([&] {
      connections_.clear();
      pool_.close();
    });
  }

  static Task<std::shared_ptr<Connection>> open(Loop& loop, uint16_t port) {
    const Endpoint to{"127.0.0.1", port};
    const std::stop_token never;
    auto transport = co_await connect(loop, to, nullptr, 5, never);
    co_return Connection::make(loop, value_or_throw(std::move(transport)));
  }
  /// The pool is used on the loop's thread alone.
  void on_loop(const std::function<void()>& work) {
    const auto call = [](std::function<void()> inner) -> Task<> {
      inner();
      co_return;
    };
    loop_.run(call(work));
  }
  Url origin(uint16_t port) { return {.tls = false, .host = "127.0.0.1", .port = port, .path = "/ignored"}; }

  test::TestServer server_;
  Loop loop_;
  ConnectionPool pool_{0.2, 2};
  std::vector<std::shared_ptr<Connection>> connections_;
};

TEST_F(ConnectionPoolTest, GivesTheOneThatWasUsedLastAndKeepsNoMoreThanItMay) {
  on_loop([&] {
    for (const auto& connection : connections_) pool_.give_back(origin(1), connection);
    EXPECT_EQ(pool_.idle(), 2U);
    EXPECT_TRUE(connections_[2]->ended());
    EXPECT_EQ(pool_.take(origin(2)), nullptr);
    EXPECT_EQ(pool_.take(origin(1)), connections_[1]);
    EXPECT_EQ(pool_.take(origin(1)), connections_[0]);
    EXPECT_EQ(pool_.take(origin(1)), nullptr);
  });
}

TEST_F(ConnectionPoolTest, GivesNoneThatIsTooOldOrClosed) {
  on_loop([&] {
    pool_.give_back(origin(1), connections_[0]);
    pool_.give_back(origin(1), connections_[1]);
    connections_[1]->close();
    EXPECT_EQ(pool_.take(origin(1)), connections_[0]);
    pool_.give_back(origin(1), connections_[0]);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  on_loop([&] {
    // One that is given back drives out those that have become too old.
    pool_.give_back(origin(1), connections_[2]);
    EXPECT_EQ(pool_.idle(), 1U);
    EXPECT_TRUE(connections_[0]->ended());
    pool_.close();
    EXPECT_TRUE(connections_[2]->ended());
    EXPECT_EQ(pool_.idle(), 0U);
  });
}

}  // namespace
}  // namespace nereus::http
