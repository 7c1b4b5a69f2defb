#include "nereus/serving/proxy.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "nereus/serving/change_request.h"
#include "nereus/serving/openai_error.h"
#include "nereus/serving/request_outline.h"

namespace nereus::serving {

namespace {

constexpr double kLookSeconds = 0.02;  // between looks for a server that serves

/// Adds one for as long as it lives.
class Counted {
 public:
  explicit Counted(int64_t& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  int64_t& count_;
};

/// Keeps an adapter from being unloaded.
class Use {
 public:
  Use(Fleet& fleet, const std::string& model) : fleet_(fleet), model_(model) { fleet_.begin_use(model_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { fleet_.end_use(model_); }

 private:
  Fleet& fleet_;
  const std::string model_;
};

/// Whether a whole answer can be what was asked for. The client parses it; this finds what is none at all.
bool looks_like_json(std::string_view body) {
  const size_t first = body.find_first_not_of(" \t\r\n");
  const size_t last = body.find_last_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{' && body[last] == '}';
}

/// Without what belongs to the connection, or is meant for the proxy alone.
http::Headers forwarded(const http::Headers& headers) {
  http::Headers kept;
  for (const auto& [name, value] : headers)
    if (!http::equal_without_case(name, "Host") && !http::equal_without_case(name, "Authorization") &&
        !http::equal_without_case(name, "Accept-Encoding"))
      kept.add(name, value);
  return kept;
}

http::Task<> reply(http::Exchange& exchange, http::Response response) {
  (void)co_await exchange.respond(std::move(response));
}

}  // namespace

Proxy::Proxy(http::Loop& loop, ProxyOptions options)
    : loop_(loop),
      options_(std::move(options)),
      fleet_(loop, options_.fleet),
      router_(options_.fleet.backends.size(), options_.routing) {
  fleet_.on_restart([this](size_t server) { router_.forget(server); });
}

Proxy::~Proxy() {
  fleet_.stop();
  if (watching_.valid()) watching_.wait();
}

void Proxy::start() {
  watching_ = loop_.start(fleet_.watch());
}

http::Task<> Proxy::handle(http::Exchange& exchange) {
  const std::string path = exchange.request().path();
  const std::string& method = exchange.request().method;
  if (method == "POST" && (path == "/v1/completions" || path == "/v1/chat/completions"))
    return complete(exchange);
  if (method == "POST" && (path == "/v1/load_lora_adapter" || path == "/v1/unload_lora_adapter" ||
                           path == "/pause" || path == "/resume"))
    return change(exchange, path);
  if (method == "GET" && path == "/v1/models") return reply(exchange, models());
  if (method == "GET" && path == "/health") return reply(exchange, health(exchange.trusted()));
  if (method == "GET" && path == "/metrics") return reply(exchange, metrics());
  return reply(exchange, error_response(404, fmt::format("no {} {} here", method, path)));
}

http::Task<Result<Proxy::Job>> Proxy::read_job(http::Exchange& exchange) {
  auto body = co_await exchange.body();
  if (!body) co_return pass(body);
  auto outline = read_outline(*body, options_.routing.block_tokens, options_.text_block_bytes);
  if (!outline) {
    (void)co_await exchange.respond(error_response(400, outline.error().message));
    co_return pass(outline);
  }
  Job job;
  const auto& asked = exchange.request();
  job.request = {asked.method, asked.target, forwarded(asked.headers), std::move(*body)};
  job.model = std::move(outline->model);
  job.blocks = std::move(outline->blocks);
  job.adapter = fleet_.is_adapter(job.model);
  job.tried.assign(fleet_.backends().size(), false);
  co_return job;
}

http::Task<> Proxy::complete(http::Exchange& exchange) {
  ++counts_.requests;
  auto job = co_await read_job(exchange);
  if (!job) co_return;
  if (running_ >= options_.max_running) {
    ++counts_.refused;
    (void)co_await exchange.respond(
        error_response(429, fmt::format("{} requests run already; try again later", running_)));
    co_return;
  }
  const Counted counted(running_);
  const Use use(fleet_, job->model);
  co_await pass_on(exchange, *job);
}

http::Task<> Proxy::pass_on(http::Exchange& exchange, Job& job) {
  Offer last;
  for (int attempt = 0; attempt < options_.attempts; ++attempt) {
    Backend* backend = choose(job);
    if (!backend) backend = co_await wait_for_server(exchange, job);
    if (!backend || exchange.stop().stop_requested()) break;
    if (attempt > 0) ++counts_.retries;
    last = co_await offer(exchange, job, *backend);
    if (last.answered) co_return;
    job.tried[fleet_.index(*backend)] = true;
    spdlog::warn("{}: {}", backend->name(), last.reason);
  }
  ++counts_.failed;
  if (exchange.begun()) co_return;
  if (last.reason.empty() && !known(job))
    last.response = error_response(404, fmt::format("no model or adapter \"{}\" is served", job.model));
  else if (last.reason.empty())
    last.response =
        error_response(503, fmt::format("no server serves ({:.3g} s waited)", options_.wait_seconds));
  (void)co_await exchange.respond(std::move(last.response));
}

bool Proxy::known(Job& job) const {
  // An adapter that is being unloaded gets no new requests; those that have it keep it.
  job.adapter = job.adapter || fleet_.is_adapter(job.model);
  return job.model.empty() || job.adapter || fleet_.is_model(job.model);
}

Backend* Proxy::choose(Job& job) {
  const auto& backends = fleet_.backends();
  if (!known(job)) return nullptr;
  eligible_.assign(backends.size(), false);
  loads_.assign(backends.size(), 0);
  bool any = false;
  for (size_t i = 0; i < backends.size(); ++i) {
    eligible_[i] = !job.tried[i] && fleet_.can_serve(*backends[i], job.model);
    loads_[i] = backends[i]->running;
    any = any || eligible_[i];
  }
  if (!any) return nullptr;
  const Route route = router_.choose(job.blocks, loads_, eligible_);
  ++(route.reason == RouteReason::affinity ? counts_.affinity
     : route.reason == RouteReason::fresh  ? counts_.fresh
                                           : counts_.spilled);
  return backends[route.server].get();
}

http::Task<Backend*> Proxy::wait_for_server(http::Exchange& exchange, Job& job) {
  const double until = clock_.now() + options_.wait_seconds;
  while (true) {
    // All that serve were tried: one of them may do better the second time.
    const bool tried = std::ranges::count(job.tried, true) > 0;
    if (tried) job.tried.assign(job.tried.size(), false);
    const bool serving = std::ranges::any_of(fleet_.backends(),
                                             [](const auto& b) { return b->state == BackendState::serving; });
    if ((serving && !known(job)) || clock_.now() >= until) co_return nullptr;
    if (!co_await loop_.sleep(kLookSeconds, exchange.stop())) co_return nullptr;
    if (Backend* backend = choose(job)) co_return backend;
  }
}

http::Task<Proxy::Offer> Proxy::offer(http::Exchange& exchange, Job& job, Backend& backend) {
  const Counted counted(backend.running);
  ++backend.requests;
  // Given up when the client leaves, and when the server is ejected while it has said nothing yet.
  std::stop_source stop;
  const std::stop_callback left(exchange.stop(), [&stop] { stop.request_stop(); });
  const std::stop_callback ejected(backend.ejection.get_token(), [&stop] { stop.request_stop(); });
  http::CallOptions options;
  options.head_seconds = options_.head_seconds;
  options.piece_seconds = options_.piece_seconds;
  options.max_body_bytes = options_.max_answer_bytes;
  options.stop = stop.get_token();
  http::Request addressed;
  auto body = job.adapter ? backend.api->address(job.request.body, job.model) : std::nullopt;
  if (body) addressed = {job.request.method, job.request.target, job.request.headers, std::move(*body)};
  const auto answer = co_await fleet_.send(backend, body ? addressed : job.request, options);
  if (answer) co_return co_await relay(exchange, job, backend, **answer);
  if (exchange.stop().stop_requested()) co_return Offer{};
  fleet_.report_failure(backend, answer.error().message);
  co_return Offer{false, answer.error().message, error_response(502, answer.error().message)};
}

http::Task<Proxy::Offer> Proxy::relay(http::Exchange& exchange, const Job& job, Backend& backend,
                                      http::Answer& answer) {
  const bool stream = answer.headers().get("Content-Type").starts_with("text/event-stream");
  if (stream && answer.status() == 200) return relay_stream(exchange, backend, answer);
  return relay_whole(exchange, job, backend, answer);
}

std::optional<Proxy::Offer> Proxy::judge(const Job& job, Backend& backend, http::Response& response) {
  if (response.status == 200 && !looks_like_json(response.body)) {
    constexpr const char* kWhy = "its answer is no JSON";
    fleet_.report_failure(backend, kWhy);
    return Offer{false, kWhy, error_response(502, fmt::format("{}: {}", backend.name(), kWhy))};
  }
  const bool lost = response.status == 404 && job.adapter, failed = response.status >= 500;
  if (!lost && !failed && response.status != 429) {
    fleet_.report_success(backend);
    return std::nullopt;
  }
  const std::string reason = response.brief();
  if (lost) fleet_.report_lost_adapters(backend);
  if (failed) fleet_.report_failure(backend, reason);
  return Offer{false, reason, std::move(response)};
}

http::Task<Proxy::Offer> Proxy::relay_whole(http::Exchange& exchange, const Job& job, Backend& backend,
                                            http::Answer& answer) {
  auto body = co_await answer.body();
  if (!body && exchange.stop().stop_requested()) co_return Offer{};
  if (!body) {
    fleet_.report_failure(backend, body.error().message);
    const std::string why = fmt::format("{}: {}", backend.name(), body.error().message);
    co_return Offer{false, body.error().message, error_response(502, why)};
  }
  http::Response whole{answer.status(), answer.take_headers(), std::move(*body)};
  if (auto refused = judge(job, backend, whole)) co_return std::move(*refused);
  (void)co_await exchange.respond(std::move(whole));
  co_return Offer{};
}

http::Task<Proxy::Offer> Proxy::relay_stream(http::Exchange& exchange, Backend& backend,
                                             http::Answer& answer) {
  auto piece = co_await answer.read_some();
  if (!piece && exchange.stop().stop_requested()) co_return Offer{};
  if (!piece || piece->empty()) {
    const std::string why = piece ? "its stream ended before it began" : piece.error().message;
    fleet_.report_failure(backend, why);
    co_return Offer{false, why, error_response(502, fmt::format("{}: {}", backend.name(), why))};
  }
  if (!co_await exchange.begin(200, answer.take_headers())) co_return Offer{};
  while (piece && !piece->empty()) {
    if (!co_await exchange.write(*piece)) co_return Offer{};
    piece = co_await answer.read_some();
  }
  if (piece) {
    fleet_.report_success(backend);
    (void)co_await exchange.end();
    co_return Offer{};
  }
  if (exchange.stop().stop_requested()) co_return Offer{};
  // Its beginning is with the client: it is told that the rest will not come, and sees no proper end.
  fleet_.report_failure(backend, piece.error().message);
  ++counts_.failed;
  const std::string event = "data: " + openai_error(502, piece.error().message).dump() + "\n\n";
  (void)co_await exchange.write(event);
  exchange.abort();
  co_return Offer{};
}

// Changes to all servers.

http::Task<> Proxy::change(http::Exchange& exchange, std::string path) {
  auto text = co_await exchange.body();
  if (!text) co_return;
  const auto change = read_change_request(path, exchange.request().query("mode"), *text);
  if (!change) {
    (void)co_await exchange.respond(error_response(400, change.error().message));
    co_return;
  }
  Status status;
  if (path == "/v1/load_lora_adapter")
    status = co_await fleet_.publish(change->name, change->path, change->in_place);
  else if (path == "/v1/unload_lora_adapter")
    status = co_await fleet_.withdraw(change->name, options_.drain_seconds);
  else if (path == "/pause")
    status = co_await fleet_.pause(change->mode);
  else
    status = co_await fleet_.resume();
  (void)co_await exchange.respond(status_response(status, 409));
}

}  // namespace nereus::serving
