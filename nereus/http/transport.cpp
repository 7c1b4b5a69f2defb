#include "nereus/http/transport.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "nereus/http/loop_impl.h"

namespace nereus::http {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

class TlsContext {
 public:
  explicit TlsContext(asio::ssl::context::method method) : context(method) {
    context.set_options(asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 |
                        asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  }
  asio::ssl::context context;
};

namespace {

Io outcome(const ErrorCode& code, size_t bytes) {
  // A TLS peer that closes without its goodbye has closed all the same: messages carry their own lengths.
  if (code == asio::error::eof || code == asio::ssl::error::stream_truncated) return {bytes, true};
  return {bytes, false, code ? code.message() : ""};
}

std::string address(const Tcp::socket& socket) {
  ErrorCode code;
  const auto endpoint = socket.remote_endpoint(code);
  if (code) return "unknown";
  return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

/// At most four pieces, as Asio takes them.
using Buffers = std::array<asio::const_buffer, 4>;

Buffers buffers_of(std::span<const std::string_view> pieces) {
  Buffers buffers;
  for (size_t i = 0; i < std::min(pieces.size(), buffers.size()); ++i)
    buffers[i] = asio::const_buffer(pieces[i].data(), pieces[i].size());
  return buffers;
}

/// `Stream` is a socket, or TLS over one. Its callbacks keep the stream alive until they have run.
template <class Stream>
struct Shared {
  template <class... Args>
  explicit Shared(Args&&... args) : stream(std::forward<Args>(args)...) {}
  Stream stream;
};

template <class Stream>
class StreamTransport : public Transport {
 public:
  template <class... Args>
  explicit StreamTransport(Args&&... args)
      : shared_(std::make_shared<Shared<Stream>>(std::forward<Args>(args)...)) {}
  ~StreamTransport() override { close_socket(); }

  void read_some(std::span<char> into, Done done) override {
    shared_->stream.async_read_some(asio::buffer(into.data(), into.size()), wrap(std::move(done)));
  }
  void write(std::span<const std::string_view> pieces, Done done) override {
    asio::async_write(shared_->stream, buffers_of(pieces), wrap(std::move(done)));
  }
  void close() override { close_socket(); }
  std::string peer() const override { return address(socket()); }

 protected:
  auto wrap(Done done) {
    return [shared = shared_, done = std::move(done)](const ErrorCode& code, size_t bytes) {
      done(outcome(code, bytes));
    };
  }
  Tcp::socket& socket() const {
    if constexpr (std::is_same_v<Stream, Tcp::socket>)
      return shared_->stream;
    else
      return shared_->stream.next_layer();
  }
  void close_socket() {
    ErrorCode ignored;
    socket().close(ignored);
  }
  std::shared_ptr<Shared<Stream>> shared_;
};

class PlainTransport final : public StreamTransport<Tcp::socket> {
 public:
  explicit PlainTransport(Tcp::socket socket) : StreamTransport(std::move(socket)) {
    ErrorCode ignored;
    shared_->stream.non_blocking(true, ignored);
  }
  size_t write_now(std::span<const std::string_view> pieces) override {
    ErrorCode code;
    const size_t bytes = shared_->stream.write_some(buffers_of(pieces), code);
    return code ? 0 : bytes;
  }
  void handshake(Done done) override {
    asio::post(shared_->stream.get_executor(), [done = std::move(done)] { done({}); });
  }
};

class TlsTransport final : public StreamTransport<asio::ssl::stream<Tcp::socket>> {
 public:
  TlsTransport(Tcp::socket socket, std::shared_ptr<TlsContext> tls, bool server)
      : StreamTransport(std::move(socket), tls->context), tls_(std::move(tls)), server_(server) {}

  /// The peer must prove that it is `host`.
  bool expect(const std::string& host) {
    shared_->stream.set_verify_callback(asio::ssl::host_name_verification(host));
    // What the macro SSL_set_tlsext_host_name does, which has an old-style cast in it.
    return SSL_ctrl(shared_->stream.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(host.c_str())) == 1;
  }
  size_t write_now(std::span<const std::string_view>) override { return 0; }
  void handshake(Done done) override {
    using Stream = asio::ssl::stream<Tcp::socket>;
    shared_->stream.async_handshake(
        server_ ? Stream::server : Stream::client,
        [shared = shared_, done = std::move(done)](const ErrorCode& code) { done(outcome(code, 0)); });
  }

 private:
  std::shared_ptr<TlsContext> tls_;
  bool server_;
};

/// Replies are small and must not wait for more.
void send_at_once(Tcp::socket& socket) {
  ErrorCode ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
}

class TcpListener final : public Listener {
 public:
  TcpListener(Loop& loop, std::shared_ptr<TlsContext> tls)
      : acceptor_(loop.impl().context), tls_(std::move(tls)), retry_(loop) {}

  ErrorCode listen(const Tcp::endpoint& at) {
    ErrorCode code;
    acceptor_.open(at.protocol(), code);
    if (!code) acceptor_.set_option(Tcp::acceptor::reuse_address(true), code);
    if (!code) acceptor_.bind(at, code);
    if (!code) acceptor_.listen(asio::socket_base::max_listen_connections, code);
    if (!code) port_ = acceptor_.local_endpoint(code).port();
    return code;
  }

  void accept(std::function<void(std::unique_ptr<Transport>)> done) override {
    acceptor_.async_accept([this, done = std::move(done)](const ErrorCode& code, Tcp::socket socket) mutable {
      if (code == asio::error::operation_aborted || code == asio::error::bad_descriptor) return done(nullptr);
      // Out of file descriptors, for one: the connections that are there go on, and some will end.
      if (code) return retry_.arm(kRetrySeconds, [this, done = std::move(done)] { accept(done); });
      send_at_once(socket);
      if (tls_) return done(std::make_unique<TlsTransport>(std::move(socket), tls_, true));
      done(std::make_unique<PlainTransport>(std::move(socket)));
    });
  }
  void close() override {
    ErrorCode ignored;
    acceptor_.close(ignored);
  }
  uint16_t port() const override { return port_; }

 private:
  static constexpr double kRetrySeconds = 0.05;
  Tcp::acceptor acceptor_;
  std::shared_ptr<TlsContext> tls_;
  Timer retry_;
  uint16_t port_ = 0;
};

Tcp::resolver::results_type resolve(Loop& loop, const Endpoint& endpoint, ErrorCode& code) {
  Tcp::resolver resolver(loop.impl().context);
  return resolver.resolve(endpoint.host, std::to_string(endpoint.port), code);
}

using Resolved = std::pair<ErrorCode, Tcp::resolver::results_type>;

/// A connection under way: the first of the resolver, the time limit, who asked and the loop's end to report
/// wins.
struct Connecting {
  explicit Connecting(Loop& loop) : resolver(loop.impl().context), socket(loop.impl().context), timer(loop) {}
  void stop(std::string why) {
    if (!reason.empty()) return;
    reason = std::move(why);
    ErrorCode ignored;
    resolver.cancel();
    socket.close(ignored);
    if (transport) transport->close();
    found({asio::error::operation_aborted, {}});
  }
  /// Ends the wait for the name once. A system's resolver cannot be cut short: what it still finds is for
  /// nobody.
  void found(Resolved resolved) {
    if (const auto resume = std::exchange(resolving, nullptr)) resume(std::move(resolved));
  }
  Tcp::resolver resolver;
  Tcp::socket socket;
  Timer timer;
  std::function<void(Resolved)> resolving;  // while the name is looked up
  std::unique_ptr<Transport> transport;     // once connected, until greeted
  std::string reason;                       // why it was stopped
};

Task<ErrorCode> open_socket(std::shared_ptr<Connecting> connecting, Endpoint to) {
  const auto resolved = co_await await_callback<Resolved>([&](std::function<void(Resolved)> done) {
    connecting->resolving = std::move(done);
    connecting->resolver.async_resolve(
        to.host, std::to_string(to.port),
        [connecting](const ErrorCode& code, Tcp::resolver::results_type results) {
          connecting->found({code, std::move(results)});
        });
  });
  if (resolved.first) co_return resolved.first;
  co_return co_await await_callback<ErrorCode>([&](std::function<void(ErrorCode)> done) {
    asio::async_connect(connecting->socket, resolved.second,
                        [connecting, done](const ErrorCode& code, const Tcp::endpoint&) { done(code); });
  });
}

}  // namespace

Result<std::shared_ptr<TlsContext>> tls_for_server(const std::string& certificate, const std::string& key) {
  auto tls = std::make_shared<TlsContext>(asio::ssl::context::tls_server);
  ErrorCode code;
  tls->context.use_certificate_chain_file(certificate, code);
  if (code) return fail("{}: no certificate in PEM format: {}", certificate, code.message());
  tls->context.use_private_key_file(key, asio::ssl::context::pem, code);
  if (code) return fail("{}: no private key in PEM format for {}: {}", key, certificate, code.message());
  return tls;
}

Result<std::shared_ptr<TlsContext>> tls_for_client(const std::string& authorities) {
  auto tls = std::make_shared<TlsContext>(asio::ssl::context::tls_client);
  ErrorCode code;
  if (authorities.empty())
    tls->context.set_default_verify_paths(code);
  else
    tls->context.load_verify_file(authorities, code);
  if (code) return fail("{}: no certificates in PEM format: {}", authorities, code.message());
  tls->context.set_verify_mode(asio::ssl::verify_peer, code);
  return tls;
}

Task<Result<std::unique_ptr<Transport>>> connect(Loop& loop, Endpoint to, std::shared_ptr<TlsContext> tls,
                                                 double seconds, std::stop_token stop) {
  auto connecting = std::make_shared<Connecting>(loop);
  const std::string where = fmt::format("{}:{}", to.host, to.port);
  connecting->timer.arm(seconds, [c = std::weak_ptr(connecting), seconds] {
    if (const auto held = c.lock()) held->stop(fmt::format("no connection within {:.3g} s", seconds));
  });
  const ClosingHook hook(loop, [c = connecting] { c->stop("the program is ending"); });
  const std::stop_callback stopped(stop, [&loop, c = std::weak_ptr(connecting)] {
    loop.post([c] {
      if (const auto held = c.lock()) held->stop("given up");
    });
  });
  const ErrorCode code = co_await open_socket(connecting, to);
  if (!connecting->reason.empty() || code) {
    const std::string why = connecting->reason.empty() ? code.message() : connecting->reason;
    co_return fail("{}: {}", where, why);
  }
  send_at_once(connecting->socket);
  if (!tls) co_return std::make_unique<PlainTransport>(std::move(connecting->socket));
  auto secured = std::make_unique<TlsTransport>(std::move(connecting->socket), tls, false);
  if (!secured->expect(to.host)) co_return fail("{}: the host's name cannot be used with TLS", where);
  connecting->transport = std::move(secured);
  const Io greeted = co_await await_callback<Io>(
      [&](Transport::Done done) { connecting->transport->handshake(std::move(done)); });
  if (!connecting->reason.empty()) co_return fail("{}: {}", where, connecting->reason);
  if (!greeted.ok())
    co_return fail("{}: TLS: {}", where, greeted.ended ? "the peer closed the connection" : greeted.error);
  co_return std::move(connecting->transport);
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, Endpoint at, std::shared_ptr<TlsContext> tls) {
  ErrorCode code;
  const auto found = resolve(loop, at, code);
  if (code || found.empty()) return fail("{}: no such address: {}", at.host, code.message());
  auto listener = std::make_unique<TcpListener>(loop, std::move(tls));
  code = listener->listen(found.begin()->endpoint());
  if (code) return fail("{}:{}: cannot be listened at: {}", at.host, at.port, code.message());
  return listener;
}

}  // namespace nereus::http
