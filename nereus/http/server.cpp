#include "nereus/http/server.h"

#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <list>

#include "nereus/base/clock.h"
#include "nereus/http/bearer.h"
#include "nereus/http/server_exchange.h"
#include "nereus/http/wire.h"

namespace nereus::http {

namespace {

// After a request was asked to stop it may still say so to its client.
constexpr double kLastWordsSeconds = 0.5;

/// One connection and where it stands.
struct Session {
  std::shared_ptr<Connection> connection;
  ServerExchange* exchange = nullptr;  // while a request is answered
  uint64_t waiting_since = 0;          // ordinal of the wait for a request
};

Response refusal(int status, std::string_view message) {
  return json_response(status, {{"error", {{"message", message}, {"code", status}}}});
}

/// An answer to bytes that are no request.
Task<> answer_and_close(Connection& connection, Response response, double seconds) {
  const std::string head =
      response_head(response.status, response.headers,
                    {.length = response.body.size(), .chunked = false, .connection = "close"});
  const std::array<std::string_view, 2> pieces = {head, response.body};
  (void)co_await connection.write(pieces, seconds);
}

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(Loop& on, ServerOptions given, Handler handle)
      : loop(on), options(std::move(given)), handler(std::move(handle)), grace(on) {}

  void accept_next();
  Task<> serve(std::unique_ptr<Transport> transport);
  Task<> serve_requests(Session& session);
  Task<bool> read_head(Session& session, Parser& parser);
  Task<bool> answer(Session& session, Parser parser);
  bool make_room();
  void begin_stop(double grace_seconds);
  void stop_requests();
  void ended_one();

  Loop& loop;
  const ServerOptions options;
  const Handler handler;
  std::unique_ptr<Listener> listener;
  uint16_t port = 0;
  std::list<Session> sessions;
  uint64_t waits = 0;
  bool stopping = false, accepting = false;
  Timer grace;
  std::promise<void> all_gone;
  bool told = false;
  std::atomic<uint64_t> accepted = 0, requests = 0, refused = 0;
  std::atomic<size_t> connections = 0;
  bool stopped = false;  // of the owner's thread
};

void Server::State::accept_next() {
  accepting = true;
  listener->accept([self = shared_from_this()](std::unique_ptr<Transport> transport) {
    self->accepting = false;
    if (!transport || self->stopping) return self->ended_one();
    ++self->accepted;
    self->loop.spawn(self->serve(std::move(transport)));
    self->accept_next();
  });
}

bool Server::State::make_room() {
  if (sessions.size() < options.max_connections) return true;
  Session* oldest = nullptr;
  for (auto& session : sessions)
    if (!session.exchange && (!oldest || session.waiting_since < oldest->waiting_since)) oldest = &session;
  if (oldest) oldest->connection->close();
  return oldest != nullptr;
}

Task<> Server::State::serve(std::unique_ptr<Transport> transport) {
  const auto self = shared_from_this();
  auto connection = Connection::make(loop, std::move(transport));
  if (!make_room()) {
    ++refused;
    co_await answer_and_close(*connection, refusal(503, "too many connections"), 1);
    connection->close();
    co_return;
  }
  const auto place = sessions.insert(sessions.end(), Session{connection, nullptr, ++waits});
  connections = sessions.size();
  const bool tls = !options.certificate.empty();
  if (!tls || co_await connection->handshake(options.header_seconds)) co_await serve_requests(*place);
  connection->close();
  sessions.erase(place);
  connections = sessions.size();
  ended_one();
}

Task<> Server::State::serve_requests(Session& session) {
  while (!stopping) {
    Parser parser(MessageKind::request, {options.max_header_bytes, options.max_body_bytes});
    session.waiting_since = ++waits;
    if (!co_await read_head(session, parser)) co_return;
    if (!co_await answer(session, std::move(parser))) co_return;
  }
}

Task<bool> Server::State::read_head(Session& session, Parser& parser) {
  Connection& connection = *session.connection;
  const SteadyClock clock;
  double deadline = 0;
  while (true) {
    while (!parser.started() &&
           (connection.input().starts_with('\r') || connection.input().starts_with('\n')))
      connection.consume(1);
    if (const auto input = connection.input(); !input.empty()) {
      const auto taken = parser.put(input);
      if (!taken) {
        ++refused;
        co_await answer_and_close(connection, refusal(taken.error().status, taken.error().message), 1);
        co_return false;
      }
      connection.consume(*taken);
      if (parser.head_done()) co_return true;
      if (deadline == 0) deadline = clock.now() + options.header_seconds;
    }
    const double seconds = deadline == 0 ? options.idle_seconds : std::max(deadline - clock.now(), 0.0);
    const auto wait = co_await connection.more(seconds);
    if (wait == Connection::Wait::data) continue;
    if (wait == Connection::Wait::timeout && deadline != 0) {
      ++refused;
      co_await answer_and_close(connection, refusal(408, "the request's head did not come in time"), 1);
    }
    co_return false;
  }
}

Task<bool> Server::State::answer(Session& session, Parser parser) {
  ServerExchange exchange(session.connection, std::move(parser), options, !stopping);
  session.exchange = &exchange;
  ++requests;
  const bool trusted = options.token.empty() || has_bearer(exchange.request().headers, options.token);
  if (trusted) exchange.trust();
  if (trusted ||
      std::ranges::find(options.open_paths, exchange.request().path()) != options.open_paths.end()) {
    try {
      co_await handler(exchange);
    } catch (const std::exception& error) {
      spdlog::error("{} {} failed: {}", exchange.request().method, exchange.request().target, error.what());
    }
  } else {
    ++refused;
    Response denied = refusal(401, "expected Authorization: Bearer with this server's token");
    denied.headers.set("WWW-Authenticate", "Bearer");
    (void)co_await exchange.respond(std::move(denied));
  }
  const bool again = co_await exchange.finish();
  session.exchange = nullptr;
  co_return again;
}

void Server::State::ended_one() {
  if (!stopping || accepting || !sessions.empty() || told) return;
  told = true;
  grace.cancel();
  all_gone.set_value();
}

void Server::State::begin_stop(double grace_seconds) {
  stopping = true;
  listener->close();
  for (auto& session : sessions)
    if (!session.exchange) session.connection->close();
  grace.arm(grace_seconds, [self = shared_from_this()] { self->stop_requests(); });
  ended_one();
}

void Server::State::stop_requests() {
  for (auto& session : sessions)
    if (session.exchange) session.exchange->request_stop();
  grace.arm(kLastWordsSeconds, [self = shared_from_this()] {
    for (auto& session : self->sessions) session.connection->close();
  });
}

Server::Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::start(Loop& loop, ServerOptions options, Handler handler) {
  std::shared_ptr<TlsContext> tls;
  if (!options.certificate.empty()) {
    auto context = tls_for_server(options.certificate, options.key);
    if (!context) return pass(context);
    tls = *context;
  }
  auto state = std::make_shared<State>(loop, std::move(options), std::move(handler));
  auto listener = Listener::open(loop, {state->options.host, state->options.port}, std::move(tls));
  if (!listener) return pass(listener);
  state->listener = std::move(*listener);
  state->port = state->listener->port();
  loop.post([state] { state->accept_next(); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::~Server() {
  stop(0);
}

void Server::stop(double grace_seconds) {
  if (std::exchange(state_->stopped, true)) return;
  auto gone = state_->all_gone.get_future();
  state_->loop.post([state = state_, grace_seconds] { state->begin_stop(grace_seconds); });
  gone.wait();
}

uint16_t Server::port() const {
  return state_->port;
}

std::string Server::url() const {
  const auto& options = state_->options;
  const std::string host = options.host == "0.0.0.0" ? "127.0.0.1" : options.host;
  return fmt::format("{}://{}:{}", options.certificate.empty() ? "http" : "https", host, state_->port);
}

Server::Stats Server::stats() const {
  return {state_->accepted, state_->requests, state_->refused, state_->connections};
}

}  // namespace nereus::http
