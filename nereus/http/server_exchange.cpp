#include "nereus/http/server_exchange.h"

#include <array>

#include "nereus/base/clock.h"
#include "nereus/http/wire.h"

namespace nereus::http {

namespace {

constexpr double kDrainSeconds = 1;
constexpr size_t kDrainBytes = 16 << 20;

Response refusal(int status, const std::string& message) {
  return json_response(status, {{"error", {{"message", message}, {"code", status}}}});
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace

ServerExchange::ServerExchange(std::shared_ptr<Connection> connection, Parser parser,
                               const ServerOptions& options, bool keep_alive)
    : connection_(std::move(connection)),
      parser_(std::move(parser)),
      options_(options),
      request_(parser_.take_request()),
      keep_alive_(keep_alive && parser_.keep_alive()),
      bodiless_(request_.method == "HEAD"),
      continue_expected_(!parser_.done() && request_.headers.lists("Expect", "100-continue")) {
  connection_->on_end([this] { stop_.request_stop(); });
  connection_->watch();
  if (connection_->ended()) stop_.request_stop();
}

ServerExchange::~ServerExchange() {
  connection_->on_end({});
}

Task<Result<std::string>> ServerExchange::refuse(int status, std::string message) {
  keep_alive_ = false;
  if (!begun_) (void)co_await respond(refusal(status, message));
  co_return fail("{}", message);
}

Task<Result<std::string>> ServerExchange::read_some() {
  if (std::exchange(continue_expected_, false)) {
    const std::array<std::string_view, 1> go_on = {"HTTP/1.1 100 Continue\r\n\r\n"};
    if (auto sent = co_await connection_->write(go_on, options_.write_seconds); !sent) co_return pass(sent);
  }
  while (true) {
    if (parser_.body_held() > 0) co_return parser_.take_body();
    if (parser_.done()) co_return std::string();
    size_t taken = 0;
    if (const auto input = connection_->input(); !input.empty()) {
      const auto put = parser_.put(input);
      if (!put) co_return co_await refuse(put.error().status, put.error().message);
      taken = *put;
      connection_->consume(taken);
      body_until_ += static_cast<double>(taken) / options_.min_body_rate;
    }
    if (taken > 0) continue;
    const auto wait = co_await connection_->more(body_seconds_left());
    if (wait == Connection::Wait::ended) co_return fail("the client left within its request");
    if (wait == Connection::Wait::timeout)
      co_return co_await refuse(408, "the request's body did not come in time");
  }
}

double ServerExchange::body_seconds_left() {
  const double now = SteadyClock().now();
  // One that sends a byte now and then would hold its connection for ever; one that was quick gets no credit.
  const double latest = now + options_.body_seconds;
  body_until_ = std::exchange(body_awaited_, true) ? std::min(body_until_, latest) : latest;
  return std::max(body_until_ - now, 0.0);
}

Task<Result<std::string>> ServerExchange::body() {
  std::string whole = parser_.take_body();  // what came with the head
  while (!parser_.done() || parser_.body_held() > 0) {
    const auto piece = co_await read_some();
    if (!piece) co_return pass(piece);
    whole += *piece;
  }
  co_return whole;
}

std::string_view ServerExchange::connection_field() const {
  if (!keep_alive_) return "close";
  return parser_.minor_version() == 0 ? "keep-alive" : "";
}

Task<Status> ServerExchange::respond(Response response) {
  if (begun_) co_return fail("an answer was begun already");
  begun_ = ended_ = true;
  if (!parser_.done()) keep_alive_ = false;
  Framing framing{.length = {}, .chunked = false, .connection = connection_field()};
  if (may_have_body(response.status)) framing.length = response.body.size();
  const std::string head = response_head(response.status, response.headers, framing);
  const bool with_body = framing.length && !bodiless_;
  const std::array<std::string_view, 2> pieces = {head, with_body ? response.body : std::string_view()};
  co_return co_await connection_->write(pieces, options_.write_seconds);
}

Task<Status> ServerExchange::begin(int status, Headers headers) {
  if (begun_) co_return fail("an answer was begun already");
  begun_ = true;
  // HTTP/1.0 knows no chunks: there the connection's end is the answer's.
  chunked_ = parser_.minor_version() > 0;
  if (!chunked_ || !parser_.done()) keep_alive_ = false;
  const std::string head =
      response_head(status, headers, {.length = {}, .chunked = chunked_, .connection = connection_field()});
  const std::array<std::string_view, 1> pieces = {head};
  co_return co_await connection_->write(pieces, options_.write_seconds);
}

Task<Status> ServerExchange::write(std::string_view piece) {
  if (!begun_ || ended_) co_return fail("the answer was not begun, or has ended");
  if (piece.empty() || bodiless_) co_return Status{};
  const std::string line = chunk_line(piece.size());
  std::array<std::string_view, 3> pieces = {line, piece, kLineEnd};
  if (!chunked_) pieces = {piece, {}, {}};
  co_return co_await connection_->write(pieces, options_.write_seconds);
}

Task<Status> ServerExchange::end() {
  if (!begun_ || ended_) co_return fail("the answer was not begun, or has ended");
  ended_ = true;
  if (!chunked_ || bodiless_) co_return Status{};
  const std::array<std::string_view, 1> pieces = {kLastChunk};
  co_return co_await connection_->write(pieces, options_.write_seconds);
}

void ServerExchange::abort() {
  begun_ = ended_ = true;
  keep_alive_ = false;
  connection_->close();
}

Task<> ServerExchange::drain() {
  size_t drained = 0;
  const double until = SteadyClock().now() + kDrainSeconds;
  while (!connection_->ended() && drained < kDrainBytes) {
    drained += connection_->input().size();
    connection_->consume(connection_->input().size());
    const double left = until - SteadyClock().now();
    if (left <= 0 || co_await connection_->more(left) != Connection::Wait::data) break;
  }
}

Task<bool> ServerExchange::finish() {
  if (!begun_) {
    keep_alive_ = false;
    (void)co_await respond(refusal(500, "no answer was given"));
  } else if (!ended_) {
    abort();
  }
  connection_->on_end({});
  if (!parser_.done() && !connection_->ended()) co_await drain();
  co_return keep_alive_ && !connection_->ended();
}

}  // namespace nereus::http
