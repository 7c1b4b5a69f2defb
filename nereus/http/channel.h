#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "nereus/http/loop.h"

namespace nereus::http {

/// Values from any thread to one coroutine on a loop, in their order. `push` and `close` are thread-safe and
/// never wait. REQUIRES: the loop lives longer; one coroutine takes.
template <class T>
class Channel : public std::enable_shared_from_this<Channel<T>> {
 public:
  static std::shared_ptr<Channel> make(Loop& loop) { return std::shared_ptr<Channel>(new Channel(loop)); }

  void push(T value) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      values_.push_back(std::move(value));
    }
    wake();
  }
  /// No more values; those that are there are still given.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(closed_, true)) return;
    }
    wake();
  }

  /// The next value; nothing once it is closed and empty.
  Task<std::optional<T>> next() {
    const auto self = this->shared_from_this();
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (!values_.empty()) {
          std::optional<T> value(std::move(values_.front()));
          values_.pop_front();
          co_return value;
        }
        if (closed_) co_return std::nullopt;
      }
      (void)co_await await_callback<bool>([&](std::function<void(bool)> done) {
        waiter_ = std::move(done);
        // What came between the look and here found nobody to wake.
        if (ready()) wake();
      });
    }
  }

 private:
  explicit Channel(Loop& loop) : loop_(loop) {}
  bool ready() {
    const std::lock_guard lock(mutex_);
    return closed_ || !values_.empty();
  }
  void wake() {
    loop_.post([self = this->shared_from_this()] {
      if (auto waiter = std::exchange(self->waiter_, nullptr)) waiter(true);
    });
  }

  Loop& loop_;
  std::mutex mutex_;
  std::deque<T> values_;
  bool closed_ = false;
  std::function<void(bool)> waiter_;  // used on the loop's thread alone
};

}  // namespace nereus::http
