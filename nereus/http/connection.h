#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/base/result.h"
#include "nereus/http/loop.h"
#include "nereus/http/transport.h"

namespace nereus::http {

/// A transport with what was read from it and not yet used. It goes on reading up to a bound while its owner
/// does other things, and so learns when the peer leaves. Lives on the loop's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static std::shared_ptr<Connection> make(Loop& loop, std::unique_ptr<Transport> transport);
  Connection(Loop& loop, std::unique_ptr<Transport> transport);
  ~Connection();

  /// TLS greeting of a server, at most so long.
  Task<Status> handshake(double seconds);

  std::string_view input() const { return std::string_view(input_).substr(used_); }
  void consume(size_t bytes);

  enum class Wait : uint8_t { data, ended, timeout };
  /// Waits until there is more input than now. REQUIRES: one waits at a time.
  Task<Wait> more(double seconds);
  /// Starts reading ahead, at most kAhead bytes; goes on by itself as input is consumed.
  void watch();
  /// Called once when the peer has left or the connection was closed.
  void on_end(std::function<void()> ended) { on_end_ = std::move(ended); }

  /// Writes all pieces, at most four; a reader too slow for so many seconds loses the connection.
  Task<Status> write(std::span<const std::string_view> pieces, double seconds);

  void close();
  /// Whether the peer has left, or the connection was closed; input may be left.
  bool ended() const { return ended_; }
  /// Why it ended, for messages.
  const std::string& reason() const { return reason_; }
  std::string peer() const { return transport_->peer(); }

 private:
  static constexpr size_t kAhead = 256 << 10, kFirstRead = 4 << 10, kLargestRead = 256 << 10;
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr int kMostAtOnce = 16;

  void read_on();
  void take(const Io& io);
  void wake(Wait wait);
  Task<Status> write_on(std::span<const std::string_view> pieces, double seconds);
  void limit(double& until, double seconds);
  void look_at_limits();

  Loop& loop_;
  std::unique_ptr<Transport> transport_;
  std::string input_;
  size_t used_ = 0;
  std::vector<char> space_;             // where the read under way puts its bytes
  std::shared_ptr<Connection> reader_;  // itself, while a read is under way
  bool reading_ = false, ended_ = false, closed_ = false;
  std::string reason_;
  std::function<void(Wait)> waiter_;
  std::function<void()> on_end_;
  // Limits move with every operation; the timer only moves when it would ring too late.
  SteadyClock clock_;
  double read_until_ = kNever, write_until_ = kNever, rings_at_ = kNever, write_seconds_ = 0;
  Timer timer_;
  int written_at_once_ = 0;  // in a row, without letting others on the loop have their turn
  ClosingHook hook_;
};

}  // namespace nereus::http
