#include "nereus/http/connection.h"

namespace nereus::http {

std::shared_ptr<Connection> Connection::make(Loop& loop, std::unique_ptr<Transport> transport) {
  return std::make_shared<Connection>(loop, std::move(transport));
}

Connection::Connection(Loop& loop, std::unique_ptr<Transport> transport)
    : loop_(loop),
      transport_(std::move(transport)),
      read_timer_(loop),
      write_timer_(loop),
      hook_(loop, [this] { close(); }) {}

Connection::~Connection() {
  transport_->close();
}

void Connection::consume(size_t bytes) {
  used_ += bytes;
  if (used_ == input_.size()) {
    input_.clear();
    used_ = 0;
    // What a large message needed is not kept by an idle connection.
    if (input_.capacity() > kAhead) input_.shrink_to_fit();
  } else if (used_ > kAhead) {
    input_.erase(0, used_);
    used_ = 0;
  }
  if (reading_ || input().size() >= kAhead) return;
  if (space_.empty()) return;  // never watched
  read_on();
}

void Connection::watch() {
  if (!reading_ && input().size() < kAhead) read_on();
}

void Connection::read_on() {
  if (ended_ || reading_) return;
  reading_ = true;
  if (space_.empty()) space_.resize(kFirstRead);
  transport_->read_some(space_, [self = shared_from_this()](const Io& io) {
    self->reading_ = false;
    self->take(io);
  });
}

void Connection::take(const Io& io) {
  input_.append(space_.data(), io.bytes);
  // A peer that fills the space gets more of it.
  if (io.bytes == space_.size() && space_.size() < kLargestRead) space_.resize(space_.size() * 4);
  if (io.ok()) {
    if (input().size() < kAhead) read_on();
    return wake(Wait::data);
  }
  if (reason_.empty()) reason_ = io.ended ? "the peer closed the connection" : io.error;
  ended_ = true;
  if (auto ended = std::exchange(on_end_, nullptr)) ended();
  wake(Wait::ended);
}

void Connection::wake(Wait wait) {
  if (!waiter_) return;
  read_timer_.cancel();
  std::exchange(waiter_, nullptr)(wait);
}

Task<Connection::Wait> Connection::more(double seconds) {
  const auto self = shared_from_this();
  if (ended_) co_return Wait::ended;
  co_return co_await await_callback<Wait>([&](std::function<void(Wait)> done) {
    waiter_ = std::move(done);
    read_timer_.arm(seconds, [self] { self->wake(Wait::timeout); });
    read_on();
  });
}

Task<Status> Connection::write(std::span<const std::string_view> pieces, double seconds) {
  const auto self = shared_from_this();
  if (closed_ || ended_) co_return fail("{}", reason_);
  write_timer_.arm(seconds, [self, seconds] {
    self->reason_ = fmt::format("the peer took nothing for {:.3g} s", seconds);
    self->close();
  });
  const Io io =
      co_await await_callback<Io>([&](Transport::Done done) { transport_->write(pieces, std::move(done)); });
  write_timer_.cancel();
  if (io.ok()) co_return Status{};
  if (reason_.empty()) reason_ = io.ended ? "the peer closed the connection" : io.error;
  close();
  co_return fail("{}", reason_);
}

Task<Status> Connection::handshake(double seconds) {
  const auto self = shared_from_this();
  write_timer_.arm(seconds, [self] {
    self->reason_ = "no TLS greeting in time";
    self->close();
  });
  const Io io =
      co_await await_callback<Io>([&](Transport::Done done) { transport_->handshake(std::move(done)); });
  write_timer_.cancel();
  if (!io.ok()) co_return fail("{}", io.ended ? "the peer closed the connection" : io.error);
  co_return Status{};
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  if (reason_.empty()) reason_ = "the connection was closed";
  transport_->close();
  if (reading_) return;  // the read under way ends and tells
  ended_ = true;
  if (auto ended = std::exchange(on_end_, nullptr)) loop_.post(std::move(ended));
}

}  // namespace nereus::http
