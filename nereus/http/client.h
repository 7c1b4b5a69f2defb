#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "nereus/base/result.h"
#include "nereus/http/loop.h"
#include "nereus/http/message.h"
#include "nereus/http/url.h"

namespace nereus::http {

struct ClientOptions {
  double connect_seconds = 5;  ///< name, connection and TLS greeting
  double idle_seconds = 30;    ///< how long a connection waits for another request
  size_t max_idle = 512;       ///< connections of one origin that wait
  std::string authorities{};   ///< PEM file of certificate authorities; "": the system's
  uint32_t max_header_bytes = 64 << 10;
};

struct CallOptions {
  double head_seconds = 60;      ///< from the request to the answer's head
  double piece_seconds = 60;     ///< without a byte of the answer's body
  double total_seconds = 3.0e7;  ///< for all of it
  uint64_t max_body_bytes = uint64_t{1} << 30;
  std::stop_token stop{};  ///< gives up and closes the connection
};

/// Gives the pieces of a request's body, "" at its end.
using BodySource = std::function<Task<Result<std::string>>()>;

/// An answer whose head is there. Its connection is used again once the body was read to its end, and is
/// closed when it is dropped before, so that the server learns that nobody waits. Lives on the loop's thread.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  /// The same to keep; `headers` is empty from then on.
  virtual Headers take_headers() = 0;
  /// The next piece, as soon as any is there; "" at the end. Errors: the server broke off, sent too much, or
  /// nothing for too long.
  virtual Task<Result<std::string>> read_some() = 0;
  /// The rest of the body.
  virtual Task<Result<std::string>> body() = 0;
};

/// An HTTP/1.1 client that keeps connections open between requests. Used on the loop's thread.
class Client {
 public:
  Client(Loop& loop, ClientOptions options = {});
  ~Client();

  /// Sends a request to `origin` (its path goes before the request's target) and waits for the answer's head.
  /// An error names the origin, and means that no part of an answer came. A request that met a connection
  /// which the server had closed meanwhile is sent once more on a new one. REQUIRES: origin and request live
  /// until then.
  Task<Result<std::unique_ptr<Answer>>> send(const Url& origin, const Request& request,
                                             CallOptions options = {});
  /// Likewise with a body that comes in pieces, sent in chunks on a new connection.
  Task<Result<std::unique_ptr<Answer>>> send(const Url& origin, const Request& request, BodySource source,
                                             CallOptions options = {});
  /// The whole answer.
  Task<Result<Response>> fetch(Url origin, Request request, CallOptions options = {});

  /// Connections that wait for a request.
  size_t idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nereus::http
