#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/http/message.h"
#include "nereus/http/task.h"

namespace nereus::http {

/// One request and its answer, as a handler sees them. Lives on the loop's thread; the body is read and the
/// answer written by awaiting. A handler answers with `respond`, or with `begin`, some `write` and `end`;
/// where it ends without either, the client gets status 500 or a broken stream, never a false end.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Without the body.
  virtual const Request& request() const = 0;
  /// Whether it carried the server's token, or the server has none; false on an open path without it.
  virtual bool trusted() const = 0;
  /// Address and port of the client.
  virtual std::string peer() const = 0;

  /// The whole body. Error: longer than the server's limit, malformed, or the client left or is too slow; the
  /// client is answered with the status that fits, and the handler should return.
  virtual Task<Result<std::string>> body() = 0;
  /// The next piece of it, "" at its end. Errors as above.
  virtual Task<Result<std::string>> read_some() = 0;

  /// The whole answer. Error: the client left.
  virtual Task<Status> respond(Response response) = 0;
  /// Status and fields of an answer that comes in pieces.
  virtual Task<Status> begin(int status, Headers headers) = 0;
  /// One piece, sent at once; returns when the network took it, so a slow reader slows its writer.
  virtual Task<Status> write(std::string_view piece) = 0;
  virtual Task<Status> end() = 0;
  /// Breaks the connection, so that the client sees that the answer is not whole.
  virtual void abort() = 0;

  /// Whether the answer's first byte was sent.
  virtual bool begun() const = 0;
  /// Asked to stop when the client leaves or the server must end.
  virtual std::stop_token stop() const = 0;
};

}  // namespace nereus::http
