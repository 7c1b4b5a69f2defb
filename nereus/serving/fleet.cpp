#include "nereus/serving/fleet.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace nereus::serving {

namespace {

constexpr double kLongestEjection = 30;
}  // namespace

Fleet::Fleet(http::Loop& loop, FleetOptions options)
    : loop_(loop), options_(std::move(options)), client_(loop, {.authorities = options_.authorities}) {
  for (const auto& backend : options_.backends)
    backends_.push_back(std::make_unique<Backend>(backend, options_.failures));
}

size_t Fleet::index(const Backend& backend) const {
  return static_cast<size_t>(std::ranges::find(backends_, &backend, &std::unique_ptr<Backend>::get) -
                             backends_.begin());
}

bool Fleet::can_serve(const Backend& backend, const std::string& model) const {
  if (backend.state != BackendState::serving) return false;
  return model.empty() || backend.adapters.contains(model) || backend.models.contains(model);
}

bool Fleet::is_model(const std::string& model) const {
  return std::ranges::any_of(backends_, [&](const auto& b) { return b->models.contains(model); });
}

void Fleet::end_use(const std::string& adapter) {
  if (const auto found = in_use_.find(adapter); found != in_use_.end() && --found->second <= 0)
    in_use_.erase(found);
}

std::vector<size_t> Fleet::serving() const {
  std::vector<size_t> found;
  for (size_t i = 0; i < backends_.size(); ++i)
    if (backends_[i]->state == BackendState::serving) found.push_back(i);
  return found;
}

void Fleet::apply(Backend& backend, BackendEvent event, const std::string& reason) {
  const auto next = next_state(backend.state, event);
  if (!next || *next == backend.state) return;
  spdlog::info("{}: {} -> {} ({}{}{})", backend.name(), name_of(backend.state), name_of(*next),
               name_of(event), reason.empty() ? "" : ": ", reason);
  const bool served = backend.state == BackendState::serving;
  backend.state = *next;
  if (!reason.empty()) backend.reason = reason;
  if (*next == BackendState::serving) backend.ejection = std::stop_source();
  if (*next == BackendState::ejected) {
    ++backend.ejections;
    backend.backoff = std::clamp(backend.backoff * 2, options_.check_seconds, kLongestEjection);
    backend.admit_at = clock_.now() + backend.backoff;
  }
  if (!served) return;
  backend.ejection.request_stop();
  if (on_restart_) on_restart_(index(backend));
}

void Fleet::report_failure(Backend& backend, const std::string& reason) {
  ++backend.errors;
  if (backend.answers.fail()) apply(backend, BackendEvent::failed, reason);
}

void Fleet::report_success(Backend& backend) {
  backend.answers.succeed();
  backend.backoff = 0;
}

void Fleet::report_lost_adapters(Backend& backend) {
  apply(backend, BackendEvent::lost_adapters, "it answered that an adapter is not there");
}

http::Task<Result<std::unique_ptr<http::Answer>>> Fleet::send(Backend& backend, http::Request& request,
                                                              http::CallOptions options) {
  if (!backend.options.token.empty()) request.headers.set("Authorization", "Bearer " + backend.options.token);
  return client_.send(backend.options.url, request, std::move(options));
}

http::Task<Result<http::Response>> Fleet::call(Backend& backend, http::Request request, double seconds) {
  http::CallOptions options;
  options.total_seconds = options.head_seconds = options.piece_seconds = seconds;
  options.max_body_bytes = 4 << 20;
  options.stop = stop_.get_token();
  auto answer = co_await send(backend, request, options);
  if (!answer) co_return pass(answer);
  auto body = co_await (*answer)->body();
  if (!body) co_return pass(body);
  co_return http::Response{(*answer)->status(), (*answer)->take_headers(), std::move(*body)};
}

// Health.

http::Task<> Fleet::watch() {
  std::vector<http::Task<bool>> tasks;
  const auto one = [](Fleet& fleet, size_t i) -> http::Task<bool> {
    co_await fleet.watch_one(i);
    co_return true;
  };
  for (size_t i = 0; i < backends_.size(); ++i) tasks.push_back(one(*this, i));
  (void)co_await http::when_all(loop_, std::move(tasks));
}

http::Task<> Fleet::watch_one(size_t index) {
  Backend& backend = *backends_[index];
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    const bool due = backend.state != BackendState::ejected || clock_.now() >= backend.admit_at;
    if (due) co_await check(backend);
    if (!co_await loop_.sleep(options_.check_seconds, stop)) co_return;
  }
}

http::Task<Result<ServedModels>> Fleet::list(Backend& backend) {
  http::Request request;
  request.target = "/v1/models";
  const auto answer = co_await call(backend, std::move(request), options_.answer_seconds);
  if (!answer) co_return pass(answer);
  auto served = read_models(*answer);
  if (!served) co_return fail("{}: {}", backend.name(), served.error().message);
  co_return served;
}

http::Task<> Fleet::check(Backend& backend) {
  const std::set<std::string> had = backend.adapters;
  const auto served = co_await list(backend);
  if (!served) {
    backend.reason = served.error().message;
    if (backend.checks.fail()) apply(backend, BackendEvent::failed, served.error().message);
    co_return;
  }
  backend.checks.succeed();
  if (backend.state == BackendState::serving) compare(backend, had, *served);
  if (backend.state == BackendState::unknown) adopt(*served);
  apply(backend, BackendEvent::answered, "");
  if (backend.state == BackendState::syncing) co_await sync(backend);
}

Status Fleet::check_base(Backend& backend, const ServedModels& served) {
  const std::string& identity = served.fingerprint.empty() ? served.root : served.fingerprint;
  if (backend.identity.empty()) backend.identity = identity;
  if (fingerprint_.empty()) fingerprint_ = served.fingerprint;
  if (backend.identity != identity)
    return fail("{}: its base model is {}, and was {}", backend.name(), identity, backend.identity);
  if (!served.fingerprint.empty() && served.fingerprint != fingerprint_)
    return fail("{}: its base model has the fingerprint {}, that of the others {}", backend.name(),
                served.fingerprint, fingerprint_);
  return {};
}

void Fleet::compare(Backend& backend, const std::set<std::string>& had, const ServedModels& served) {
  if (auto same = check_base(backend, served); !same)
    return apply(backend, BackendEvent::changed_base, same.error().message);
  backend.models = served.models;
  if (!backend.api->has_adapters()) return;
  for (const auto& name : had) {
    if (!backend.api->lists_adapters()) break;
    // One that is being unloaded is gone from some servers before it is from all.
    if (!adapters_.contains(name)) continue;
    if (!served.adapters.contains(name) && backend.adapters.contains(name))
      return apply(backend, BackendEvent::lost_adapters, fmt::format("{} is not there any more", name));
  }
  for (const auto& [name, path] : adapters_)
    if (!backend.adapters.contains(name))
      return apply(backend, BackendEvent::lost_adapters, fmt::format("{} is not there yet", name));
}

/// A proxy that was started anew knows nothing of what was published before: the servers do.
void Fleet::adopt(const ServedModels& served) {
  for (const auto& [name, path] : served.adapters) {
    if (path.empty() || withdrawn_.contains(name) || leaving_.contains(name)) continue;
    if (adapters_.size() + leaving_.size() >= options_.adapter_slots) continue;
    if (adapters_.emplace(name, path).second) spdlog::info("found {} published, from {}", name, path);
  }
}

http::Task<> Fleet::sync(Backend& backend) {
  constexpr int kRounds = 5;  // what is published meanwhile needs another one
  backend.adapters.clear();
  for (int round = 0; round < kRounds && backend.state == BackendState::syncing; ++round) {
    if (const auto synced = co_await sync_once(backend); !synced) {
      if (backend.state == BackendState::syncing)
        apply(backend, BackendEvent::sync_failed, synced.error().message);
      co_return;
    }
    const bool complete = std::ranges::all_of(adapters_, [&](const auto& adapter) {
      return !backend.api->has_adapters() || backend.adapters.contains(adapter.first);
    });
    const bool surplus = std::ranges::any_of(backend.adapters, [&](const auto& name) {
      return withdrawn_.contains(name) && !adapters_.contains(name);
    });
    if (!complete || surplus || changing_) continue;
    backend.checks.succeed();
    backend.answers.succeed();
    apply(backend, BackendEvent::synced, "");
  }
}

http::Task<Status> Fleet::sync_once(Backend& backend) {
  const auto served = co_await list(backend);
  if (!served) co_return pass(served);
  if (auto same = check_base(backend, *served); !same) {
    apply(backend, BackendEvent::changed_base, same.error().message);
    co_return same;
  }
  backend.models = served->models;
  if (!backend.api->has_adapters()) co_return Status{};
  for (const auto& [name, path] : served->adapters)
    if (withdrawn_.contains(name) && !adapters_.contains(name)) {
      (void)co_await call(backend, backend.api->unload(name), options_.load_seconds);
      backend.adapters.erase(name);
    }
  const auto wanted = adapters_;
  for (const auto& [name, path] : wanted) {
    const bool there = backend.api->lists_adapters() && served->adapters.contains(name);
    if (!there || replaced_.contains(name))
      if (auto given = co_await give(backend, name, path); !given) co_return given;
    backend.adapters.insert(name);
  }
  co_return Status{};
}

http::Task<Status> Fleet::give(Backend& backend, const std::string& adapter, const std::string& path) {
  if (replaced_.contains(adapter))
    (void)co_await call(backend, backend.api->unload(adapter), options_.load_seconds);
  const auto answer = co_await call(backend, backend.api->load(adapter, path), options_.load_seconds);
  if (!answer) co_return pass(answer);
  if (!backend.api->is_loaded(*answer, adapter))
    co_return fail("{}: loading {}: {}", backend.name(), adapter, answer->brief());
  co_return Status{};
}

}  // namespace nereus::serving
