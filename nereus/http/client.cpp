#include "nereus/http/client.h"

#include <algorithm>
#include <array>

#include "nereus/base/clock.h"
#include "nereus/http/connection_pool.h"
#include "nereus/http/parser.h"
#include "nereus/http/wire.h"

namespace nereus::http {

namespace {

/// What one call may still take.
class Deadline {
 public:
  explicit Deadline(double seconds) : until_(SteadyClock().now() + seconds) {}
  double left(double at_most) const { return std::clamp(until_ - SteadyClock().now(), 0.0, at_most); }

 private:
  double until_;
};

/// One request on one connection.
struct Call {
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Parser> parser;
  bool reused = false;
  bool lost = false;  // the connection ended before any byte of an answer
};

}  // namespace

struct Client::State {
  State(Loop& on, ClientOptions given)
      : loop(on),
        options(std::move(given)),
        pool(std::make_shared<ConnectionPool>(options.idle_seconds, options.max_idle)) {}

  Task<Result<std::shared_ptr<Connection>>> open(const Url& origin, double seconds, std::stop_token stop);
  Result<std::shared_ptr<TlsContext>> tls();
  Task<Result<std::unique_ptr<Answer>>> attempt(const Url& origin, const Request& request,
                                                const BodySource& source, const CallOptions& call,
                                                const Deadline& deadline, Call& made);

  Loop& loop;
  const ClientOptions options;
  const std::shared_ptr<ConnectionPool> pool;  // answers outlive the client
  std::shared_ptr<TlsContext> tls_context;
};

namespace {

/// Closes the connection on its loop, from whatever thread.
struct CloseLater {
  Loop& loop;
  std::weak_ptr<Connection> connection;
  void operator()() const {
    loop.post([weak = connection] {
      if (const auto held = weak.lock()) held->close();
    });
  }
};
using StopGuard = std::stop_callback<CloseLater>;

class PooledAnswer final : public Answer {
 public:
  PooledAnswer(std::shared_ptr<ConnectionPool> pool, std::unique_ptr<StopGuard> guard, Call call,
               const Url& origin, const CallOptions& options, Deadline deadline)
      : pool_(std::move(pool)),
        guard_(std::move(guard)),
        call_(std::move(call)),
        origin_(origin),
        piece_seconds_(options.piece_seconds),
        max_bytes_(options.max_body_bytes),
        deadline_(deadline) {
    release_if_done();
  }
  ~PooledAnswer() override {
    if (call_.connection) call_.connection->close();
  }

  int status() const override { return call_.parser->status(); }
  const Headers& headers() const override { return call_.parser->headers(); }
  Headers take_headers() override { return call_.parser->take_headers(); }

  Task<Result<std::string>> read_some() override {
    Parser& parser = *call_.parser;
    while (true) {
      if (parser.body_held() > 0) co_return parser.take_body();
      if (parser.done()) co_return std::string();
      size_t taken = 0;
      if (const auto input = call_.connection->input(); !input.empty()) {
        const auto put = parser.put(input);
        if (!put) co_return fail("{}: {}", origin_.origin(), put.error().message);
        taken = *put;
        call_.connection->consume(taken);
      }
      release_if_done();
      if (taken > 0 || parser.done()) continue;
      const auto wait = co_await call_.connection->more(deadline_.left(piece_seconds_));
      if (wait == Connection::Wait::data) continue;
      if (wait == Connection::Wait::timeout)
        co_return fail("{}: the answer stopped: nothing came for {:.3g} s", origin_.origin(), piece_seconds_);
      if (!parser.end())
        co_return fail("{}: the answer broke off: {}", origin_.origin(), call_.connection->reason());
    }
  }

  Task<Result<std::string>> body() override {
    const Parser& parser = *call_.parser;
    std::string whole = call_.parser->take_body();  // what came with the head
    while ((!parser.done() || parser.body_held() > 0) && whole.size() <= max_bytes_) {
      const auto piece = co_await read_some();
      if (!piece) co_return pass(piece);
      whole += *piece;
    }
    if (whole.size() > max_bytes_)
      co_return fail("{}: the answer is larger than {} bytes", origin_.origin(), max_bytes_);
    co_return whole;
  }

 private:
  void release_if_done() {
    if (!call_.parser->done() || !call_.connection) return;
    guard_.reset();
    auto connection = std::exchange(call_.connection, nullptr);
    if (call_.parser->keep_alive() && !connection->ended() && connection->input().empty())
      pool_->give_back(origin_, std::move(connection));
    else
      connection->close();
  }

  std::shared_ptr<ConnectionPool> pool_;
  std::unique_ptr<StopGuard> guard_;
  Call call_;
  Url origin_;
  double piece_seconds_;
  uint64_t max_bytes_;
  Deadline deadline_;
};

Task<Status> write_source(Connection& connection, const BodySource& source, double seconds) {
  while (true) {
    const auto piece = co_await source();
    if (!piece) co_return pass(piece);
    if (piece->empty()) break;
    const std::string line = chunk_line(piece->size());
    const std::array<std::string_view, 3> pieces = {line, *piece, kLineEnd};
    if (auto sent = co_await connection.write(pieces, seconds); !sent) co_return sent;
  }
  const std::array<std::string_view, 1> last = {kLastChunk};
  co_return co_await connection.write(last, seconds);
}

Task<Status> write_request(Connection& connection, const Url& origin, const Request& request,
                           const BodySource& source, double seconds) {
  Framing framing;
  framing.chunked = static_cast<bool>(source);
  if (!source && (!request.body.empty() || request.method == "POST" || request.method == "PUT"))
    framing.length = request.body.size();
  const std::string text = request_head(request, origin, framing);
  const std::array<std::string_view, 2> pieces = {text, request.body};
  if (auto sent = co_await connection.write(pieces, seconds); !sent || !source) co_return sent;
  co_return co_await write_source(connection, source, seconds);
}

/// Reads up to the end of the answer's head, past interim answers (100 to 199).
Task<Status> read_head(Call& call, bool bodiless, uint32_t max_header_bytes, double seconds) {
  const Deadline deadline(seconds);
  Connection& connection = *call.connection;
  call.parser = std::make_unique<Parser>(MessageKind::response, ParserLimits{max_header_bytes}, bodiless);
  while (true) {
    if (const auto input = connection.input(); !input.empty()) {
      const auto taken = call.parser->put(input);
      if (!taken) co_return fail("{}", taken.error().message);
      connection.consume(*taken);
      if (call.parser->head_done() && call.parser->status() >= 200) co_return Status{};
      if (call.parser->head_done()) {
        call.parser =
            std::make_unique<Parser>(MessageKind::response, ParserLimits{max_header_bytes}, bodiless);
        continue;
      }
    }
    const auto wait = co_await connection.more(deadline.left(seconds));
    if (wait == Connection::Wait::timeout) co_return fail("no answer within {:.3g} s", seconds);
    if (wait == Connection::Wait::data) continue;
    call.lost = !call.parser->started();
    co_return fail("no answer: {}", connection.reason());
  }
}

}  // namespace

Result<std::shared_ptr<TlsContext>> Client::State::tls() {
  if (tls_context) return tls_context;
  auto made = tls_for_client(options.authorities);
  if (made) tls_context = *made;
  return made;
}

Task<Result<std::shared_ptr<Connection>>> Client::State::open(const Url& origin, double seconds,
                                                              std::stop_token stop) {
  std::shared_ptr<TlsContext> context;
  if (origin.tls) {
    auto made = tls();
    if (!made) co_return pass(made);
    context = *made;
  }
  // A braced temporary within a co_await expression is freed twice by GCC 12.
  const Endpoint to{origin.host, origin.port};
  auto transport = co_await connect(loop, to, context, seconds, stop);
  if (!transport) co_return pass(transport);
  co_return Connection::make(loop, std::move(*transport));
}

Task<Result<std::unique_ptr<Answer>>> Client::State::attempt(const Url& origin, const Request& request,
                                                             const BodySource& source,
                                                             const CallOptions& call,
                                                             const Deadline& deadline, Call& made) {
  if (made.reused && !source) made.connection = pool->take(origin);
  made.reused = made.connection != nullptr;
  if (!made.connection) {
    auto opened = co_await open(origin, deadline.left(options.connect_seconds), call.stop);
    if (!opened) co_return pass(opened);
    made.connection = *opened;
  }
  const CloseLater close_later{loop, made.connection};
  auto guard = std::make_unique<StopGuard>(call.stop, close_later);
  const auto connection = made.connection;
  auto status =
      co_await write_request(*connection, origin, request, source, deadline.left(call.head_seconds));
  // A server that answers before it has read all of the request has still answered.
  made.lost = !status;
  if (status || !connection->input().empty())
    status = co_await read_head(made, request.method == "HEAD", options.max_header_bytes,
                                deadline.left(call.head_seconds));
  if (!status) {
    connection->close();
    co_return fail("{}: {}", origin.origin(),
                   call.stop.stop_requested() ? "given up" : status.error().message);
  }
  co_return std::make_unique<PooledAnswer>(pool, std::move(guard), std::move(made), origin, call, deadline);
}

Client::Client(Loop& loop, ClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

Client::~Client() {
  // Connections end on their own thread.
  state_->loop.post([pool = state_->pool] { pool->close(); });
}

Task<Result<std::unique_ptr<Answer>>> Client::send(const Url& origin, const Request& request,
                                                   CallOptions options) {
  return send(origin, request, BodySource(), std::move(options));
}

Task<Result<std::unique_ptr<Answer>>> Client::send(const Url& origin, const Request& request,
                                                   BodySource source, CallOptions options) {
  const auto state = state_;
  const Deadline deadline(options.total_seconds);
  Call first;
  first.reused = true;  // where there is one to reuse
  auto answer = co_await state->attempt(origin, request, source, options, deadline, first);
  if (answer || !first.reused || !first.lost || options.stop.stop_requested()) co_return answer;
  Call second;
  co_return co_await state->attempt(origin, request, source, options, deadline, second);
}

Task<Result<Response>> Client::fetch(Url origin, Request request, CallOptions options) {
  auto answer = co_await send(origin, request, std::move(options));
  if (!answer) co_return pass(answer);
  auto body = co_await (*answer)->body();
  if (!body) co_return pass(body);
  co_return Response{(*answer)->status(), (*answer)->take_headers(), std::move(*body)};
}

size_t Client::idle() const {
  return state_->pool->idle();
}

}  // namespace nereus::http
