#include "nereus/serving/endpoint.h"

#include <ctime>

#include "nereus/serving/adapter_folder.h"
#include "nereus/serving/change_request.h"
#include "nereus/serving/completion_answer.h"
#include "nereus/serving/completion_stream.h"
#include "nereus/serving/openai_error.h"
#include "nereus/serving/prometheus.h"
#include "nereus/serving/routing.h"

namespace nereus::serving {

/// A request under way, ended when the client leaves or nobody waits for it any more.
class CompletionCall {
 public:
  CompletionCall(http::Loop& loop, EngineThread& engine, const text::Tokenizer& tokenizer,
                 const CompletionRequest& asked, rollout::Request request, std::stop_token stop)
      : events_(http::Channel<CompletionEvent>::make(loop)),
        number_(engine.submit(asked.model, std::move(request),
                              std::make_shared<CompletionStream>(tokenizer, asked, events_))),
        engine_(engine),
        left_(std::move(stop), [this] { give_up(); }) {}
  ~CompletionCall() { give_up(); }
  CompletionCall(const CompletionCall&) = delete;
  CompletionCall& operator=(const CompletionCall&) = delete;

  http::Task<std::optional<CompletionEvent>> next() {
    auto event = co_await events_->next();
    if (event && std::holds_alternative<CompletionEnd>(*event)) ended_ = true;
    co_return event;
  }

 private:
  void give_up() {
    if (std::exchange(ended_, true)) return;
    engine_.cancel(number_);
    events_->close();
  }

  std::shared_ptr<http::Channel<CompletionEvent>> events_;
  uint64_t number_;
  EngineThread& engine_;
  bool ended_ = false;
  std::stop_callback<std::function<void()>> left_;
};

namespace {

// Random streams of requests without a seed are numbers with this bit, those of others are hashes without it.
constexpr uint64_t kUnseeded = uint64_t{1} << 63;

http::Headers event_stream() {
  return {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}};
}

std::string event_of(const OrderedJson& json) {
  return "data: " + json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n\n";
}

}  // namespace

Endpoint::Endpoint(http::Loop& loop, EngineThread& engine, text::Tokenizer tokenizer,
                   std::optional<text::ChatTemplate> chat, EndpointOptions options)
    : loop_(loop),
      engine_(engine),
      tokenizer_(std::move(tokenizer)),
      chat_(std::move(chat)),
      options_(std::move(options)) {}

http::Task<> Endpoint::handle(http::Exchange& exchange) {
  const std::string path = exchange.request().path();
  const std::string& method = exchange.request().method;
  if (method == "POST" && path == "/v1/completions") {
    co_await complete(exchange, false);
  } else if (method == "POST" && path == "/v1/chat/completions") {
    co_await complete(exchange, true);
  } else if (method == "POST" && (path == "/v1/load_lora_adapter" || path == "/v1/unload_lora_adapter" ||
                                  path == "/pause" || path == "/resume")) {
    co_await change(exchange, path);
  } else if (method == "GET" && path == "/v1/models") {
    (void)co_await exchange.respond(models());
  } else if (method == "GET" && path == "/health") {
    (void)co_await exchange.respond(health());
  } else if (method == "GET" && path == "/metrics") {
    (void)co_await exchange.respond(metrics());
  } else {
    (void)co_await exchange.respond(error_response(404, fmt::format("no {} {} here", method, path)));
  }
}

Result<rollout::Tokens> Endpoint::prompt_of(const CompletionRequest& request) const {
  if (request.prompt_ids) return *request.prompt_ids;
  if (!request.chat) return tokenizer_.encode(request.prompt_text, true);
  if (!chat_) return fail("this model has no chat template; send \"prompt_token_ids\"");
  OrderedJson variables = request.template_variables;
  variables["messages"] = request.messages;
  variables["bos_token"] = tokenizer_.bos_text();
  variables["eos_token"] = tokenizer_.eos_text();
  if (!variables.contains("add_generation_prompt")) variables["add_generation_prompt"] = true;
  const auto text = chat_->render(variables);
  if (!text) return pass(text);
  return tokenizer_.encode(*text, false);
}

rollout::Request Endpoint::request_of(const CompletionRequest& asked, rollout::Tokens prompt) {
  rollout::Request request;
  request.count = asked.count;
  request.sampling = asked.sampling;
  auto& stops = request.sampling.stop_ids;
  if (!asked.ignore_eos) stops.insert(stops.end(), options_.end_ids.begin(), options_.end_ids.end());
  // One seed and one prompt give one answer, whatever else was asked before.
  const auto hash = block_hashes("", prompt, prompt.size());
  request.seed = asked.seed.value_or(options_.seed);
  request.stream = asked.seed ? hash.front() & ~kUnseeded : requests_ | kUnseeded;
  if (asked.prompt_id) request.stream = *asked.prompt_id;
  request.prompt = std::move(prompt);
  return request;
}

http::Task<> Endpoint::complete(http::Exchange& exchange, bool chat) {
  auto text = co_await exchange.body();
  if (!text) co_return;
  const auto body = parse_ordered_json(*text, "request");
  auto asked = body ? read_completion_request(*body, chat, options_.limits) : pass(body);
  if (!asked) {
    (void)co_await exchange.respond(error_response(400, asked.error().message));
    co_return;
  }
  auto prompt = prompt_of(*asked);
  if (prompt && prompt->empty()) prompt = fail("the prompt has no tokens");
  if (!prompt) {
    (void)co_await exchange.respond(error_response(400, prompt.error().message));
    co_return;
  }
  ++requests_;
  const std::string id = fmt::format("{}-{}", chat ? "chatcmpl" : "cmpl", requests_);
  CompletionAnswer answer(*asked, id, std::time(nullptr),
                          asked->model.empty() ? options_.model_name : asked->model, tokenizer_, *prompt);
  CompletionCall call(loop_, engine_, tokenizer_, *asked, request_of(*asked, std::move(*prompt)),
                      exchange.stop());
  if (asked->stream)
    co_await answer_stream(exchange, answer, call);
  else
    co_await answer_whole(exchange, answer, call);
}

http::Task<> Endpoint::answer_whole(http::Exchange& exchange, CompletionAnswer& answer,
                                    CompletionCall& call) {
  const auto event = co_await call.next();
  if (!event) co_return;  // the client has left
  const auto& end = std::get<CompletionEnd>(*event);
  http::Response response = end.group ? http::json_response(200, answer.whole(end))
                                      : error_response(end.group.error().status, end.group.error().message);
  (void)co_await exchange.respond(std::move(response));
}

http::Task<> Endpoint::answer_stream(http::Exchange& exchange, CompletionAnswer& answer,
                                     CompletionCall& call) {
  while (true) {
    const auto event = co_await call.next();
    if (!event) co_return;
    const auto* end = std::get_if<CompletionEnd>(&*event);
    if (end && !end->group && !exchange.begun()) {
      (void)co_await exchange.respond(error_response(end->group.error().status, end->group.error().message));
      co_return;
    }
    if (!exchange.begun() && !co_await exchange.begin(200, event_stream())) co_return;
    if (!end) {
      const OrderedJson chunk = answer.add(std::get<CompletionPiece>(*event));
      if (!chunk.is_null() && !co_await exchange.write(event_of(chunk))) co_return;
      continue;
    }
    if (!end->group) {
      (void)co_await exchange.write(
          event_of(openai_error(end->group.error().status, end->group.error().message)));
      exchange.abort();
      co_return;
    }
    std::string last;
    for (const auto& chunk : answer.last_chunks(*end)) last += event_of(chunk);
    last += "data: [DONE]\n\n";
    if (co_await exchange.write(last)) (void)co_await exchange.end();
    co_return;
  }
}

http::Task<Status> Endpoint::await_engine(std::function<void(EngineThread::Done)> start) {
  co_return co_await http::await_callback<Status>([&](std::function<void(Status)> done) {
    start([&loop = loop_, done](Status status) { loop.post([done, status] { done(status); }); });
  });
}

http::Task<Status> Endpoint::pause(PauseMode mode) {
  co_return co_await await_engine([&](EngineThread::Done done) { engine_.pause(mode, std::move(done)); });
}

http::Task<Status> Endpoint::load(std::string name, std::string asked, bool replace) {
  if (name == options_.model_name) co_return fail("{}: is the name of the base model", name);
  const auto folder = adapter_path(asked, options_.adapter_root);
  if (!folder) co_return pass(folder);
  co_return co_await await_engine(
      [&](EngineThread::Done done) { engine_.load(name, folder->string(), replace, std::move(done)); });
}

http::Task<Status> Endpoint::unload(std::string name) {
  co_return co_await await_engine([&](EngineThread::Done done) { engine_.unload(name, std::move(done)); });
}

http::Task<> Endpoint::change(http::Exchange& exchange, const std::string& path) {
  auto text = co_await exchange.body();
  if (!text) co_return;
  const auto asked = read_change_request(path, exchange.request().query("mode"), *text);
  if (!asked) {
    (void)co_await exchange.respond(error_response(400, asked.error().message));
    co_return;
  }
  Status status;
  if (path == "/resume")
    engine_.resume();
  else if (path == "/pause")
    status = co_await pause(asked->mode);
  else if (path == "/v1/load_lora_adapter")
    status = co_await load(asked->name, asked->path, asked->in_place);
  else
    status = co_await unload(asked->name);
  const int refused = path == "/v1/unload_lora_adapter" ? 404 : 400;
  (void)co_await exchange.respond(status_response(status, refused));
}

http::Response Endpoint::models() const {
  OrderedJson data = OrderedJson::array();
  data.push_back({{"id", options_.model_name},
                  {"object", "model"},
                  {"owned_by", "nereus"},
                  {"root", options_.root},
                  {"parent", nullptr},
                  {"fingerprint", options_.fingerprint}});
  for (const auto& adapter : engine_.stats().adapters)
    data.push_back({{"id", adapter.name},
                    {"object", "model"},
                    {"owned_by", "nereus"},
                    {"root", adapter.path},
                    {"parent", options_.model_name}});
  return http::json_response(200, {{"object", "list"}, {"data", data}});
}

http::Response Endpoint::health() const {
  const auto stats = engine_.stats();
  if (!stats.broken.empty()) return error_response(503, stats.broken);
  return http::json_response(200, {{"status", "ok"},
                                   {"model", options_.model_name},
                                   {"fingerprint", options_.fingerprint},
                                   {"adapter_slots", options_.adapter_slots},
                                   {"paused", stats.paused},
                                   {"running", stats.running}});
}

http::Response Endpoint::metrics() const {
  const auto stats = engine_.stats();
  PrometheusPage page;
  page.counter("nereus_serve_requests_total", "Requests that ended, by result.");
  page.value(static_cast<double>(stats.finished), {{"result", "finished"}});
  page.value(static_cast<double>(stats.refused), {{"result", "refused"}});
  page.value(static_cast<double>(stats.failed), {{"result", "failed"}});
  page.value(static_cast<double>(stats.cancelled), {{"result", "cancelled"}});
  page.gauge("nereus_serve_running", "Requests under way.");
  page.value(static_cast<double>(stats.running));
  page.counter("nereus_serve_generated_tokens_total", "Tokens sampled.");
  page.value(static_cast<double>(stats.tokens));
  page.counter("nereus_serve_prefix_cache_queries_total", "Prompt tokens of requests that finished.");
  page.value(static_cast<double>(stats.prompt_tokens));
  page.counter("nereus_serve_prefix_cache_hits_total", "Those of them that were found in the prefix cache.");
  page.value(static_cast<double>(stats.cached_tokens));
  page.counter("nereus_serve_step_seconds_total", "Time in the engine's steps.");
  page.value(stats.step_seconds);
  page.gauge("nereus_serve_adapters", "Adapters loaded.");
  page.value(static_cast<double>(stats.adapters.size()));
  page.gauge("nereus_serve_paused", "1 while generation is paused.");
  page.value(stats.paused ? 1 : 0);
  return page.response();
}

}  // namespace nereus::serving
