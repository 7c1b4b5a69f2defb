#include "nereus/http/loop.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "nereus/http/loop_impl.h"

namespace nereus::http {

namespace asio = boost::asio;

namespace {

/// A coroutine that nobody awaits; it frees itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

Detached detach(Task<> task) {
  try {
    co_await std::move(task);
  } catch (const std::exception& error) {
    spdlog::error("a task on the network loop failed: {}", error.what());
  }
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  // A year is as good as for ever, and far from overflow.
  return std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, 3.2e7) * 1e9));
}

}  // namespace

void Loop::Impl::call_hook(uint64_t id) {
  const auto found = hooks.find(id);
  if (found == hooks.end()) return;
  const auto hook = found->second;  // it may remove itself
  hook();
}

Loop::Loop() : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

Loop::~Loop() {
  close();
}

void Loop::post(std::function<void()> work) {
  asio::post(impl_->context, std::move(work));
}

void Loop::spawn(Task<> task) {
  post([task = std::make_shared<Task<>>(std::move(task))] { detach(std::move(*task)); });
}

bool Loop::on_thread() const {
  return std::this_thread::get_id() == impl_->thread.get_id();
}

void Loop::close() {
  if (!impl_->thread.joinable()) return;
  post([impl = impl_.get()] {
    impl->closing = true;
    const auto hooks = impl->hooks;  // one may remove itself, or others
    for (const auto& [id, hook] : hooks) impl->call_hook(id);
    impl->work.reset();
  });
  impl_->thread.join();
}

ClosingHook::ClosingHook(Loop& loop, std::function<void()> close)
    : loop_(loop), id_(loop.impl().next_hook++) {
  auto& impl = loop.impl();
  impl.hooks.emplace(id_, std::move(close));
  if (impl.closing) loop.post([&impl, id = id_] { impl.call_hook(id); });
}

ClosingHook::~ClosingHook() {
  loop_.impl().hooks.erase(id_);
}

struct Timer::Impl {
  explicit Impl(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
  uint64_t armed = 0;  // number of the arming in force; an expiry that was under way is stale
};

Timer::Timer(Loop& loop) : impl_(std::make_shared<Impl>(loop.impl().context)) {}

Timer::~Timer() {
  cancel();
}

void Timer::arm(double seconds, std::function<void()> expired) {
  const uint64_t number = ++impl_->armed;
  impl_->timer.expires_after(nanoseconds(seconds));
  impl_->timer.async_wait(
      [impl = impl_, number, expired = std::move(expired)](const boost::system::error_code& error) {
        if (!error && impl->armed == number) expired();
      });
}

void Timer::cancel() {
  ++impl_->armed;
  impl_->timer.cancel();
}

namespace {

/// Ends a wait once, whoever is first.
struct Sleeping {
  explicit Sleeping(Loop& loop) : timer(loop) {}
  void end(bool slept) {
    timer.cancel();
    if (auto resume = std::exchange(done, nullptr)) resume(slept);
  }
  Timer timer;
  std::function<void(bool)> done;
};

}  // namespace

Task<bool> Loop::sleep(double seconds, std::stop_token stop) {
  const auto sleeping = std::make_shared<Sleeping>(*this);
  const std::function<void()> cut = [this, sleeping] { post([sleeping] { sleeping->end(false); }); };
  const ClosingHook hook(*this, cut);
  const std::stop_callback stopped(stop, cut);
  co_return co_await await_callback<bool>([&](std::function<void(bool)> resume) {
    sleeping->done = std::move(resume);
    sleeping->timer.arm(seconds, [sleeping] { sleeping->end(true); });
  });
}

}  // namespace nereus::http
