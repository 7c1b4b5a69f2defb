#include "nereus/http/client.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/http/connection.h"
#include "nereus/http/parser.h"
#include "nereus/http/wire.h"

namespace nereus::http {

namespace {

struct Idle {
  std::shared_ptr<Connection> connection;
  double since = 0;
};

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

struct Client::State : std::enable_shared_from_this<Client::State> {
  State(Loop& on, ClientOptions given) : loop(on), options(std::move(given)) {}

  std::shared_ptr<Connection> take_idle(const std::string& origin);
  void give_back(const std::string& origin, std::shared_ptr<Connection> connection);
  Task<Result<std::shared_ptr<Connection>>> open(const Url& origin, double seconds);
  Result<std::shared_ptr<TlsContext>> tls();
  Task<Result<std::unique_ptr<Answer>>> attempt(const Url& origin, const Request& request,
                                                const BodySource& source, const CallOptions& call,
                                                const Deadline& deadline, Call& made);

  Loop& loop;
  const ClientOptions options;
  std::shared_ptr<TlsContext> tls_context;
  std::map<std::string, std::vector<Idle>> pool;
  SteadyClock clock;
  bool closed = false;
};

namespace {

/// Closes the connection when asked to stop, from whatever thread.
class StopGuard {
 public:
  StopGuard(Loop& loop, const std::shared_ptr<Connection>& connection, std::stop_token stop)
      : callback_(std::move(stop), [&loop, weak = std::weak_ptr(connection)] {
          loop.post([weak] {
            if (const auto held = weak.lock()) held->close();
          });
        }) {}

 private:
  std::stop_callback<std::function<void()>> callback_;
};

class PooledAnswer final : public Answer {
 public:
  PooledAnswer(std::function<void(std::shared_ptr<Connection>)> give_back, std::unique_ptr<StopGuard> guard,
               Call call, std::string where, const CallOptions& options, Deadline deadline)
      : give_back_(std::move(give_back)),
        guard_(std::move(guard)),
        call_(std::move(call)),
        where_(std::move(where)),
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

  Task<Result<std::string>> read_some() override {
    Parser& parser = *call_.parser;
    while (true) {
      if (parser.body_held() > 0) co_return parser.take_body();
      if (parser.done()) co_return std::string();
      size_t taken = 0;
      if (const auto input = call_.connection->input(); !input.empty()) {
        const auto put = parser.put(input);
        if (!put) co_return fail("{}: {}", where_, put.error().message);
        taken = *put;
        call_.connection->consume(taken);
      }
      release_if_done();
      if (taken > 0 || parser.done()) continue;
      const auto wait = co_await call_.connection->more(deadline_.left(piece_seconds_));
      if (wait == Connection::Wait::data) continue;
      if (wait == Connection::Wait::timeout)
        co_return fail("{}: the answer stopped: nothing came for {:.3g} s", where_, piece_seconds_);
      if (!parser.end()) co_return fail("{}: the answer broke off: {}", where_, call_.connection->reason());
    }
  }

  Task<Result<std::string>> body() override {
    std::string whole;
    while (true) {
      auto piece = co_await read_some();
      if (!piece) co_return pass(piece);
      if (piece->empty()) co_return whole;
      if (whole.size() + piece->size() > max_bytes_)
        co_return fail("{}: the answer is larger than {} bytes", where_, max_bytes_);
      if (whole.empty())
        whole = std::move(*piece);
      else
        whole += *piece;
    }
  }

 private:
  void release_if_done() {
    if (!call_.parser->done() || !call_.connection) return;
    guard_.reset();
    auto connection = std::exchange(call_.connection, nullptr);
    if (call_.parser->keep_alive() && !connection->ended() && connection->input().empty())
      give_back_(std::move(connection));
    else
      connection->close();
  }

  std::function<void(std::shared_ptr<Connection>)> give_back_;
  std::unique_ptr<StopGuard> guard_;
  Call call_;
  std::string where_;
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
  Request head = {request.method, origin.path + request.target, request.headers, ""};
  Framing framing;
  framing.chunked = static_cast<bool>(source);
  if (!source && (!request.body.empty() || request.method == "POST" || request.method == "PUT"))
    framing.length = request.body.size();
  const std::string text =
      request_head(head, origin.origin().substr(origin.origin().find("//") + 2), framing);
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

std::shared_ptr<Connection> Client::State::take_idle(const std::string& origin) {
  auto& waiting = pool[origin];
  while (!waiting.empty()) {
    Idle idle = std::move(waiting.back());
    waiting.pop_back();
    const bool fresh = clock.now() - idle.since < options.idle_seconds;
    if (fresh && !idle.connection->ended() && idle.connection->input().empty()) return idle.connection;
    idle.connection->close();
  }
  return nullptr;
}

void Client::State::give_back(const std::string& origin, std::shared_ptr<Connection> connection) {
  auto& waiting = pool[origin];
  const double now = clock.now();
  std::erase_if(waiting, [&](const Idle& idle) {
    const bool stale = idle.connection->ended() || now - idle.since >= options.idle_seconds;
    if (stale) idle.connection->close();
    return stale;
  });
  if (closed || waiting.size() >= options.max_idle) return connection->close();
  waiting.push_back({std::move(connection), now});
}

Result<std::shared_ptr<TlsContext>> Client::State::tls() {
  if (tls_context) return tls_context;
  auto made = tls_for_client(options.authorities);
  if (made) tls_context = *made;
  return made;
}

Task<Result<std::shared_ptr<Connection>>> Client::State::open(const Url& origin, double seconds) {
  std::shared_ptr<TlsContext> context;
  if (origin.tls) {
    auto made = tls();
    if (!made) co_return pass(made);
    context = *made;
  }
  // A braced temporary within a co_await expression is freed twice by GCC 12.
  const Endpoint to{origin.host, origin.port};
  auto transport = co_await connect(loop, to, context, seconds);
  if (!transport) co_return pass(transport);
  co_return Connection::make(loop, std::move(*transport));
}

Task<Result<std::unique_ptr<Answer>>> Client::State::attempt(const Url& origin, const Request& request,
                                                             const BodySource& source,
                                                             const CallOptions& call,
                                                             const Deadline& deadline, Call& made) {
  const std::string where = origin.origin();
  if (made.reused && !source) made.connection = take_idle(where);
  made.reused = made.connection != nullptr;
  if (!made.connection) {
    auto opened = co_await open(origin, deadline.left(options.connect_seconds));
    if (!opened) co_return pass(opened);
    made.connection = *opened;
  }
  auto guard = std::make_unique<StopGuard>(loop, made.connection, call.stop);
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
    co_return fail("{}: {}", where, call.stop.stop_requested() ? "given up" : status.error().message);
  }
  auto give = [state = shared_from_this(), where](std::shared_ptr<Connection> done) {
    state->give_back(where, std::move(done));
  };
  co_return std::make_unique<PooledAnswer>(std::move(give), std::move(guard), std::move(made), where, call,
                                           deadline);
}

Client::Client(Loop& loop, ClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

Client::~Client() {
  // Connections end on their own thread.
  state_->loop.post([state = state_] {
    state->closed = true;
    for (auto& [origin, waiting] : state->pool)
      for (auto& idle : waiting) idle.connection->close();
    state->pool.clear();
  });
}

Task<Result<std::unique_ptr<Answer>>> Client::send(Url origin, Request request, CallOptions options) {
  co_return co_await send(std::move(origin), std::move(request), BodySource(), std::move(options));
}

Task<Result<std::unique_ptr<Answer>>> Client::send(Url origin, Request request, BodySource source,
                                                   CallOptions options) {
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
  auto answer = co_await send(std::move(origin), std::move(request), std::move(options));
  if (!answer) co_return pass(answer);
  auto body = co_await (*answer)->body();
  if (!body) co_return pass(body);
  co_return Response{(*answer)->status(), (*answer)->headers(), std::move(*body)};
}

size_t Client::idle() const {
  size_t count = 0;
  for (const auto& [origin, waiting] : state_->pool) count += waiting.size();
  return count;
}

}  // namespace nereus::http
