#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nereus/http/exchange.h"
#include "nereus/http/loop.h"

namespace nereus::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  ///< address to listen at; 0.0.0.0 for all
  uint16_t port = 0;               ///< 0: any free one
  std::string token{};             ///< requests must carry it as a bearer token; "": no check
  std::vector<std::string> open_paths = {"/health"};  ///< need no token
  std::string certificate{}, key{};                   ///< PEM files for TLS; "": plain
  uint32_t max_header_bytes = 64 << 10;
  uint64_t max_body_bytes = 64 << 20;
  size_t max_connections = 8192;  ///< beyond it the one that waits longest for a request is closed
  double header_seconds = 10;     ///< from a request's first byte to the end of its head
  double idle_seconds = 75;       ///< between requests
  double body_seconds = 30;       ///< without a byte of the body
  double min_body_rate = 1024;  ///< bytes a second that a body must come with, behind its first body_seconds
  double write_seconds = 60;    ///< without the client taking what is written
};

/// Answers one request; runs as a coroutine on the loop's thread and must not block.
using Handler = std::function<Task<>(Exchange&)>;

/// An HTTP/1.1 server on a loop. Refuses by itself, before the handler: malformed and oversize heads (400,
/// 431, 505), wrong tokens (401), lengths beyond the limit (413), too slow heads (408).
class Server {
 public:
  /// Error: the address or the TLS files cannot be used. The handler lives as long as the server.
  static Result<std::unique_ptr<Server>> start(Loop& loop, ServerOptions options, Handler handler);
  /// Stops without waiting for requests. REQUIRES: not on the loop's thread; the loop is open.
  ~Server();

  uint16_t port() const;
  /// "http://HOST:PORT".
  std::string url() const;

  /// Takes no more connections, lets requests end for so long, then asks them to stop, and returns when all
  /// are gone. REQUIRES: not on the loop's thread.
  void stop(double grace_seconds);

  struct Stats {
    uint64_t accepted = 0, requests = 0, refused = 0;
    size_t connections = 0;  ///< now
  };
  /// Thread-safe.
  Stats stats() const;

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace nereus::http
