#include "nereus/http/loop.h"

#include <gtest/gtest.h>

#include <thread>

#include "nereus/http/channel.h"

namespace nereus::http {
namespace {

Task<int> twice(int value) {
  co_return value * 2;
}

Task<int> sum_to(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum += co_await twice(i);
  co_return sum;
}

Task<int> slow(Loop& loop, double seconds, int value) {
  co_await loop.sleep(seconds);
  co_return value;
}

Task<int> broken() {
  throw std::runtime_error("broken");
  co_return 0;
}

TEST(Loop, RunsTasks) {
  Loop loop;
  EXPECT_EQ(loop.run(sum_to(10)), 110);
  EXPECT_THROW(loop.run(broken()), std::runtime_error);
  EXPECT_FALSE(loop.on_thread());
}

TEST(Loop, AllAtOnceInTheirOrder) {
  Loop loop;
  const auto all = [](Loop& on) -> Task<std::vector<int>> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 5; ++i) tasks.push_back(slow(on, 0.02 * (5 - i), i));
    co_return co_await when_all(on, std::move(tasks));
  };
  EXPECT_EQ(loop.run(all(loop)), (std::vector{0, 1, 2, 3, 4}));
}

TEST(Loop, SleepsAreCutShort) {
  Loop loop;
  const auto sleep = [](Loop& on, std::stop_token stop) -> Task<bool> {
    co_return co_await on.sleep(60, stop);
  };
  std::stop_source stop;
  std::thread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  EXPECT_FALSE(loop.run(sleep(loop, stop.get_token())));
  stopping.join();
  EXPECT_FALSE(loop.run(sleep(loop, stop.get_token())));
}

TEST(Loop, ClosingEndsWhatWaits) {
  bool ended = false;
  {
    Loop loop;
    const auto sleep = [](Loop& on, bool& done) -> Task<> {
      (void)co_await on.sleep(60);
      done = true;
    };
    loop.spawn(sleep(loop, ended));
  }
  EXPECT_TRUE(ended);
}

// A hook that is made while the loop closes is called, but not when its owner has gone meanwhile.
TEST(Loop, HooksMadeWhileItCloses) {
  int kept = 0, gone = 0;
  {
    Loop loop;
    const auto make_hooks = [](Loop& on, int& counted, int& never) -> Task<> {
      (void)co_await on.sleep(60);
      const ClosingHook hook(on, [&] { ++counted; });
      {
        const ClosingHook forgotten(on, [&] { ++never; });
      }
      (void)co_await on.sleep(60);
    };
    loop.spawn(make_hooks(loop, kept, gone));
  }
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(gone, 0);
}

// Who waits for a result may destroy what the task used.
TEST(Loop, NothingOfATaskIsLeftWithItsResult) {
  Loop loop;
  const auto keep = [](std::shared_ptr<int> value) -> Task<int> { co_return *value; };
  const auto keep_only = [](std::shared_ptr<int> value) -> Task<> {
    EXPECT_EQ(*value, 3);
    co_return;
  };
  const auto value = std::make_shared<int>(3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(loop.run(keep(value)), 3);
    EXPECT_EQ(value.use_count(), 1);
    loop.start(keep_only(value)).get();
    EXPECT_EQ(value.use_count(), 1);
  }
}

TEST(Channel, TakesWhatOtherThreadsPush) {
  Loop loop;
  const auto channel = Channel<int>::make(loop);
  std::vector<std::jthread> pushing;
  for (int thread = 0; thread < 4; ++thread)
    pushing.emplace_back([channel] {
      for (int i = 0; i < 1000; ++i) channel->push(i);
    });
  const auto take = [](std::shared_ptr<Channel<int>> from, int count) -> Task<int> {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += (co_await from->next()).value();
    co_return sum;
  };
  EXPECT_EQ(loop.run(take(channel, 4000)), 4 * 999 * 1000 / 2);
  const auto rest = [](std::shared_ptr<Channel<int>> from) -> Task<bool> {
    co_return (co_await from->next()).has_value();
  };
  channel->push(1);
  channel->close();
  channel->push(2);  // too late
  EXPECT_TRUE(loop.run(rest(channel)));
  EXPECT_FALSE(loop.run(rest(channel)));
}

}  // namespace
}  // namespace nereus::http
