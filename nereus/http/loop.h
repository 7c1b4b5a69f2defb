#pragma once

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <vector>

#include "nereus/http/task.h"

namespace nereus::http {

/// A thread that runs network operations and the coroutines that wait for them, one after another: what lives
/// on one loop needs no locks. `post`, `spawn`, `start` and `run` are thread-safe, all else is called on the
/// loop.
class Loop {
 public:
  Loop();
  /// Closes.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs `work` on the loop's thread, after what was posted before.
  void post(std::function<void()> work);
  /// Starts a task; an exception that leaves it is logged.
  void spawn(Task<> task);
  /// Starts a task whose result is asked for later; nothing of it is left once the result is there.
  template <class T>
  std::future<T> start(Task<T> task);
  /// Starts a task and waits for what it gives. REQUIRES: not called on the loop's thread.
  template <class T>
  T run(Task<T> task) {
    return start(std::move(task)).get();
  }

  /// False where it was cut short by `stop` or by the loop's end.
  Task<bool> sleep(double seconds, std::stop_token stop = {});
  bool on_thread() const;

  /// Cuts short every wait, runs tasks to their ends, and joins the thread. REQUIRES: not called on it.
  void close();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Calls `expired` once, `seconds` after the last `arm`, unless cancelled. Used on the loop's thread.
class Timer {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  void arm(double seconds, std::function<void()> expired);
  void cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Called when the loop closes, so that what waits on it ends. Used on the loop's thread.
class ClosingHook {
 public:
  ClosingHook(Loop& loop, std::function<void()> close);
  ~ClosingHook();
  ClosingHook(const ClosingHook&) = delete;
  ClosingHook& operator=(const ClosingHook&) = delete;

 private:
  Loop& loop_;
  uint64_t id_;
};

namespace detail {

/// Who waits may then destroy what the task used, so the task goes first.
template <class T>
Task<> deliver(Task<T> task, std::shared_ptr<std::promise<T>> promise) {
  try {
    std::optional<T> value;
    {
      Task<T> running = std::move(task);
      value.emplace(co_await std::move(running));
    }
    promise->set_value(std::move(*value));
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
}

inline Task<> deliver(Task<> task, std::shared_ptr<std::promise<void>> promise) {
  try {
    {
      Task<> running = std::move(task);
      co_await std::move(running);
    }
    promise->set_value();
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
}

template <class T>
struct Gathering {
  std::vector<std::optional<T>> results;
  size_t left = 0;
  std::function<void(bool)> done;
};

template <class T>
Task<> gather_one(Task<T> task, std::shared_ptr<Gathering<T>> gathering, size_t index) {
  gathering->results[index].emplace(co_await std::move(task));
  if (--gathering->left == 0) gathering->done(true);
}

}  // namespace detail

template <class T>
std::future<T> Loop::start(Task<T> task) {
  auto promise = std::make_shared<std::promise<T>>();
  auto future = promise->get_future();
  spawn(detail::deliver(std::move(task), std::move(promise)));
  return future;
}

/// Runs all tasks at once; results in their order. REQUIRES: the tasks throw nothing.
template <class T>
Task<std::vector<T>> when_all(Loop& loop, std::vector<Task<T>> tasks) {
  auto gathering = std::make_shared<detail::Gathering<T>>();
  gathering->results.resize(tasks.size());
  gathering->left = tasks.size();
  if (!tasks.empty()) {
    co_await await_callback<bool>([&](std::function<void(bool)> done) {
      gathering->done = std::move(done);
      for (size_t i = 0; i < tasks.size(); ++i)
        loop.spawn(detail::gather_one(std::move(tasks[i]), gathering, i));
    });
  }
  std::vector<T> results;
  for (auto& result : gathering->results) results.push_back(std::move(*result));
  co_return results;
}

}  // namespace nereus::http
