#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/http/loop.h"

namespace nereus::http {

/// What became of one operation on a connection.
struct Io {
  size_t bytes = 0;
  bool ended = false;   ///< the peer closed in good order
  std::string error{};  ///< "" where nothing failed
  bool ok() const { return !ended && error.empty(); }
};

/// A stream of bytes, plain or TLS. Operations call back once, later, on the loop's thread; one read and one
/// write may be under way at a time. REQUIRES: buffers live until then.
class Transport {
 public:
  using Done = std::function<void(Io)>;
  virtual ~Transport() = default;
  /// TLS greeting; nothing on a plain stream.
  virtual void handshake(Done done) = 0;
  virtual void read_some(std::span<char> into, Done done) = 0;
  /// Writes as much of the pieces as the network takes at once, and returns how many bytes; 0 where it takes
  /// none, or something is wrong, which `write` will tell.
  virtual size_t write_now(std::span<const std::string_view> pieces) = 0;
  /// All of the pieces, one after another (at most four).
  virtual void write(std::span<const std::string_view> pieces, Done done) = 0;
  /// What is under way ends with an error. May be called twice.
  virtual void close() = 0;
  /// Address and port of the other side.
  virtual std::string peer() const = 0;
};

/// Certificates and keys for TLS; immutable.
class TlsContext;
/// PEM files: the certificate with its chain, and its private key.
Result<std::shared_ptr<TlsContext>> tls_for_server(const std::string& certificate, const std::string& key);
/// Peers must show a certificate for their name that `authorities` (a PEM file; "": the system's) signed.
Result<std::shared_ptr<TlsContext>> tls_for_client(const std::string& authorities);

struct Endpoint {
  std::string host;
  uint16_t port = 0;
};

/// Connects within `seconds`, name and greeting included, unless `stop` is asked for before. `tls` may be
/// null.
Task<Result<std::unique_ptr<Transport>>> connect(Loop& loop, Endpoint to, std::shared_ptr<TlsContext> tls,
                                                 double seconds, std::stop_token stop);

/// Takes connections at an address. Used on the loop's thread, save for `open` and `port`.
class Listener {
 public:
  /// Port 0: any free one. Error: the address is in use or not this machine's.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, Endpoint at, std::shared_ptr<TlsContext> tls);
  virtual ~Listener() = default;
  /// The next connection, before its greeting. Errors pass, unless the listener is closed: null then.
  virtual void accept(std::function<void(std::unique_ptr<Transport>)> done) = 0;
  virtual void close() = 0;
  virtual uint16_t port() const = 0;
};

}  // namespace nereus::http
