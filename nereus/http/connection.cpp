#include "nereus/http/connection.h"

#include <algorithm>
#include <array>

namespace nereus::http {

std::shared_ptr<Connection> Connection::make(Loop& loop, std::unique_ptr<Transport> transport) {
  return std::make_shared<Connection>(loop, std::move(transport));
}

Connection::Connection(Loop& loop, std::unique_ptr<Transport> transport)
    : loop_(loop), transport_(std::move(transport)), timer_(loop), hook_(loop, [this] { close(); }) {}

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
  reader_ = shared_from_this();
  transport_->read_some(space_, [this](const Io& io) {
    const auto self = std::exchange(reader_, nullptr);
    reading_ = false;
    take(io);
  });
}

void Connection::take(const Io& io) {
  written_at_once_ = 0;
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
  read_until_ = kNever;
  std::exchange(waiter_, nullptr)(wait);
}

void Connection::limit(double& until, double seconds) {
  const double now = clock_.now();
  until = now + seconds;
  if (until >= rings_at_) return;
  rings_at_ = until;
  timer_.arm(until - now, [this] { look_at_limits(); });
}

void Connection::look_at_limits() {
  const auto self = shared_from_this();
  const double now = clock_.now();
  rings_at_ = kNever;
  if (write_until_ <= now) {
    reason_ = fmt::format("the peer took nothing for {:.3g} s", write_seconds_);
    return close();
  }
  const bool read_late = read_until_ <= now;
  if (read_late) read_until_ = kNever;
  if (const double next = std::min(read_until_, write_until_); next != kNever && !closed_) {
    rings_at_ = next;
    timer_.arm(next - now, [this] { look_at_limits(); });
  }
  if (read_late) wake(Wait::timeout);
}

Task<Connection::Wait> Connection::more(double seconds) {
  const auto self = shared_from_this();
  if (ended_) co_return Wait::ended;
  co_return co_await await_callback<Wait>([&](std::function<void(Wait)> done) {
    waiter_ = std::move(done);
    limit(read_until_, seconds);
    read_on();
  });
}

namespace {

/// The pieces without their first bytes.
std::array<std::string_view, 4> drop(std::span<const std::string_view> pieces, size_t bytes) {
  std::array<std::string_view, 4> rest;
  for (size_t i = 0; i < std::min(pieces.size(), rest.size()); ++i) {
    const size_t gone = std::min(bytes, pieces[i].size());
    rest[i] = pieces[i].substr(gone);
    bytes -= gone;
  }
  return rest;
}

}  // namespace

Task<Status> Connection::write(std::span<const std::string_view> pieces, double seconds) {
  if (closed_ || ended_) co_return fail("{}", reason_);
  size_t bytes = 0;
  for (const auto piece : pieces) bytes += piece.size();
  size_t written = 0;
  if (++written_at_once_ < kMostAtOnce) written = transport_->write_now(pieces);
  if (written == bytes) co_return Status{};
  written_at_once_ = 0;
  const auto rest = drop(pieces, written);
  co_return co_await write_on(rest, seconds);
}

Task<Status> Connection::write_on(std::span<const std::string_view> pieces, double seconds) {
  const auto self = shared_from_this();
  write_seconds_ = seconds;
  limit(write_until_, seconds);
  const Io io =
      co_await await_callback<Io>([&](Transport::Done done) { transport_->write(pieces, std::move(done)); });
  write_until_ = kNever;
  if (io.ok()) co_return Status{};
  if (reason_.empty()) reason_ = io.ended ? "the peer closed the connection" : io.error;
  close();
  co_return fail("{}", reason_);
}

Task<Status> Connection::handshake(double seconds) {
  const auto self = shared_from_this();
  timer_.arm(seconds, [this] {
    reason_ = "no TLS greeting in time";
    close();
  });
  const Io io =
      co_await await_callback<Io>([&](Transport::Done done) { transport_->handshake(std::move(done)); });
  timer_.cancel();
  if (!io.ok()) co_return fail("{}", io.ended ? "the peer closed the connection" : io.error);
  co_return Status{};
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  if (reason_.empty()) reason_ = "the connection was closed";
  timer_.cancel();
  transport_->close();
  if (reading_) return;  // the read under way ends and tells
  ended_ = true;
  if (auto ended = std::exchange(on_end_, nullptr)) loop_.post(std::move(ended));
}

}  // namespace nereus::http
