#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace nereus::http {

template <class T>
class Task;

namespace detail {

/// Resumes who awaits the task, on the thread that ended it.
struct ResumeParent {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
    return done.promise().parent ? done.promise().parent : std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> parent;
  std::exception_ptr error;
  std::suspend_always initial_suspend() noexcept { return {}; }
  ResumeParent final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

/// A coroutine that starts when it is awaited and gives a T. It runs on the thread of the Loop that resumes
/// it and is not thread-safe. REQUIRES: one that started is not destroyed before it ends.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
    handle_.promise().parent = parent;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail

/// Awaits an operation that calls back once, later, on the loop's thread: `start(done)` begins it.
/// `T value = co_await await_callback<T>([&](auto done) { ... });`
template <class T, class Start>
class AwaitCallback {
 public:
  explicit AwaitCallback(Start start) : start_(std::move(start)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    start_([this, handle](T value) {
      value_.emplace(std::move(value));
      handle.resume();
    });
  }
  T await_resume() { return std::move(*value_); }

 private:
  Start start_;
  std::optional<T> value_;
};

template <class T, class Start>
AwaitCallback<T, Start> await_callback(Start start) {
  return AwaitCallback<T, Start>(std::move(start));
}

}  // namespace nereus::http
