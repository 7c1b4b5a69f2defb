#include "nereus/serving/engine_thread.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "nereus/base/clock.h"

namespace nereus::serving {

namespace {

constexpr int kFailedSteps = 3;

/// A request until its end.
struct Active {
  std::string model;
  std::shared_ptr<CompletionSink> sink;
  bool cancelled = false;
};

struct LoadedAdapter {
  std::string path;
  std::vector<EngineThread::Done> unloading;
};

}  // namespace

struct EngineThread::State {
  State(std::unique_ptr<rollout::Generator> made, AdapterHooks given, EngineThreadOptions with)
      : generator(std::move(made)), hooks(std::move(given)), options(std::move(with)) {}

  void run();
  void run_loader();
  void start(uint64_t number, const Active& active, rollout::Request request);
  void submit(rollout::Request request);
  std::optional<Refusal> refusal(const std::string& model) const;
  void step();
  Result<std::vector<rollout::Group>> step_guarded();
  void finish(uint64_t number, tl::expected<rollout::Group, Refusal> group);
  void fail_all(const std::string& why);
  void cancel(uint64_t number);
  void abort_all();
  void begin_load(const std::string& name, const std::string& path, bool replace, const Done& done);
  void end_load(const std::string& name, const std::string& path, const Result<std::function<void()>>& made);
  void begin_unload(const std::string& name, const Done& done);
  Result<std::function<void()>> load_guarded(const std::string& name, const std::string& path) const;
  void settle();
  bool computing() const;
  void publish_stats();

  const std::unique_ptr<rollout::Generator> generator;
  const AdapterHooks hooks;
  const EngineThreadOptions options;
  WorkQueue work, loads;

  // Of the engine's thread.
  std::map<uint64_t, Active> requests;  // by number, which is their prompt id
  std::map<std::string, LoadedAdapter> adapters;
  std::map<std::string, std::vector<Done>> loading;
  std::optional<PauseMode> paused;
  std::vector<Done> pausing;
  std::vector<rollout::Request> held;  // that came during a pause
  int failed_steps = 0;                // in a row
  Stats counts;

  mutable std::mutex stats_mutex;
  Stats shown;
  std::atomic<uint64_t> next_number = 1;
  std::thread engine_thread, loader_thread;
};

void EngineThread::State::finish(uint64_t number, tl::expected<rollout::Group, Refusal> group) {
  const auto found = requests.find(number);
  if (found == requests.end()) return;  // it was cancelled, and so has ended
  const Active active = std::move(found->second);
  requests.erase(found);
  if (active.cancelled)
    ++counts.cancelled;
  else if (!group)
    ++(group.error().status >= 500 ? counts.failed : counts.refused);
  else
    ++counts.finished;
  if (group) {
    counts.prompt_tokens += group->prompt.size();
    counts.cached_tokens += static_cast<uint64_t>(group->cached_tokens);
  }
  active.sink->on_end(std::move(group));
}

std::optional<Refusal> EngineThread::State::refusal(const std::string& model) const {
  if (!counts.broken.empty()) return Refusal{503, counts.broken};
  const auto adapter = adapters.find(model);
  if (!model.empty() && (adapter == adapters.end() || !adapter->second.unloading.empty()))
    return Refusal{404, fmt::format("no model \"{}\" is served", model)};
  if (requests.size() > options.max_requests)
    return Refusal{429, fmt::format("{} requests run already; try again later", options.max_requests)};
  return std::nullopt;
}

void EngineThread::State::start(uint64_t number, const Active& active, rollout::Request request) {
  ++counts.accepted;
  requests.emplace(number, active);
  if (auto refused = refusal(active.model)) return finish(number, tl::unexpected(std::move(*refused)));
  request.prompt_id = number;
  request.policy = active.model;
  if (paused && *paused != PauseMode::keep) return held.push_back(std::move(request));
  submit(std::move(request));
}

void EngineThread::State::submit(rollout::Request request) {
  const uint64_t number = request.prompt_id;
  const auto found = requests.find(number);
  if (found == requests.end()) return;  // its client left while it was held
  const auto submitted = generator->submit(
      std::move(request),
      [this, sink = found->second.sink](uint64_t, uint32_t completion, int32_t token, float logprob) {
        ++counts.tokens;
        return sink->on_token(completion, token, logprob);
      });
  if (!submitted) finish(number, tl::unexpected(Refusal{400, submitted.error().message}));
}

void EngineThread::State::cancel(uint64_t number) {
  const auto found = requests.find(number);
  if (found == requests.end()) return;
  found->second.cancelled = true;
  generator->cancel(number);
  finish(number, tl::unexpected(Refusal{499, "cancelled"}));
}

/// Requests that run end with what they have, once the next step gives it.
void EngineThread::State::abort_all() {
  for (const auto& [number, active] : requests) generator->cancel(number);
}

void EngineThread::State::fail_all(const std::string& why) {
  while (!requests.empty()) {
    const uint64_t number = requests.begin()->first;
    generator->cancel(number);
    finish(number, tl::unexpected(Refusal{500, why}));
  }
  // Without its requests the next step gives their groups back; a generator that fails at that too is lost.
  if (++failed_steps >= kFailedSteps)
    counts.broken = fmt::format("the engine failed {} times in a row: {}", failed_steps, why);
}

Result<std::vector<rollout::Group>> EngineThread::State::step_guarded() {
  try {
    return generator->step();
  } catch (const std::exception& error) {
    return fail("{}", error.what());
  }
}

void EngineThread::State::step() {
  const SteadyClock clock;
  const Stopwatch watch(clock);
  auto groups = step_guarded();
  counts.step_seconds += watch.seconds();
  if (!groups) return fail_all(groups.error().message);
  failed_steps = 0;
  for (auto& group : *groups) {
    const uint64_t number = group.prompt_id;
    finish(number, std::move(group));
  }
}

bool EngineThread::State::computing() const {
  return paused != PauseMode::keep && counts.broken.empty() && !generator->idle();
}

/// What waits for requests to end, where they have.
void EngineThread::State::settle() {
  for (auto at = adapters.begin(); at != adapters.end();) {
    const auto& name = at->first;
    const bool used = at->second.unloading.empty() || std::ranges::any_of(requests, [&](const auto& request) {
                        return request.second.model == name;
                      });
    if (used) {
      ++at;
      continue;
    }
    hooks.remove(name);
    const auto waiting = std::move(at->second.unloading);
    at = adapters.erase(at);
    publish_stats();
    for (const auto& done : waiting) done({});
  }
  if (!paused || computing()) return;
  publish_stats();
  for (const auto& done : std::exchange(pausing, {})) done({});
}

void EngineThread::State::run() {
  options.on_start();
  while (true) {
    publish_stats();
    for (const auto& command : computing() ? work.take() : work.wait(options.burst)) command();
    if (work.closed()) break;
    if (computing()) step();
    settle();
  }
  while (!requests.empty()) cancel(requests.begin()->first);
  for (const auto& done : std::exchange(pausing, {})) done(fail("the server is ending"));
  for (auto& [name, adapter] : adapters)
    for (const auto& done : adapter.unloading) done(fail("the server is ending"));
  for (auto& [name, waiting] : loading)
    for (const auto& done : waiting) done(fail("the server is ending"));
}

void EngineThread::State::run_loader() {
  while (!loads.closed())
    for (const auto& load : loads.wait()) load();
}

void EngineThread::State::begin_load(const std::string& name, const std::string& path, bool replace,
                                     const Done& done) {
  const auto found = adapters.find(name);
  const bool known = found != adapters.end();
  if (known && !found->second.unloading.empty()) return done(fail("{}: is being unloaded", name));
  if (known && !replace) {
    if (found->second.path == path) return done({});
    return done(fail("{}: is loaded already, from {}", name, found->second.path));
  }
  const bool first = !loading.contains(name);
  if (!first && replace) return done(fail("{}: is being loaded; try again later", name));
  if (first && !known && adapters.size() + loading.size() >= options.adapter_slots)
    return done(fail("{}: all {} adapter slots are in use; unload one first", name, options.adapter_slots));
  loading[name].push_back(done);
  if (!first) return;
  loads.push([this, name, path] {
    auto made = load_guarded(name, path);
    work.push([this, name, path, made = std::move(made)] { end_load(name, path, made); });
  });
}

Result<std::function<void()>> EngineThread::State::load_guarded(const std::string& name,
                                                                const std::string& path) const {
  try {
    return hooks.load(name, path);
  } catch (const std::exception& error) {
    return fail("{}: {}", name, error.what());
  }
}

void EngineThread::State::end_load(const std::string& name, const std::string& path,
                                   const Result<std::function<void()>>& made) {
  if (made) {
    (*made)();
    adapters[name].path = path;
  }
  const auto waiting = std::move(loading[name]);
  loading.erase(name);
  publish_stats();
  for (const auto& done : waiting) done(made ? Status() : Status(pass(made)));
}

void EngineThread::State::begin_unload(const std::string& name, const Done& done) {
  const auto found = adapters.find(name);
  if (found == adapters.end()) return done(fail("{}: the adapter cannot be found", name));
  if (loading.contains(name)) return done(fail("{}: is being replaced; try again later", name));
  found->second.unloading.push_back(done);
}

void EngineThread::State::publish_stats() {
  counts.running = requests.size();
  counts.paused = paused.has_value();
  counts.adapters.clear();
  for (const auto& [name, adapter] : adapters) counts.adapters.push_back({name, adapter.path});
  const std::lock_guard lock(stats_mutex);
  shown = counts;
}

EngineThread::EngineThread(std::unique_ptr<rollout::Generator> generator, AdapterHooks hooks,
                           EngineThreadOptions options)
    : state_(std::make_unique<State>(std::move(generator), std::move(hooks), std::move(options))) {
  state_->engine_thread = std::thread([state = state_.get()] { state->run(); });
  state_->loader_thread = std::thread([state = state_.get()] { state->run_loader(); });
}

EngineThread::~EngineThread() {
  state_->loads.close();
  state_->loader_thread.join();
  state_->work.close();
  state_->engine_thread.join();
}

uint64_t EngineThread::submit(std::string model, rollout::Request request,
                              std::shared_ptr<CompletionSink> sink) {
  const uint64_t number = state_->next_number++;
  if (model == state_->options.base_name) model.clear();
  state_->work.push_of_burst([state = state_.get(), number,
                              active = Active{std::move(model), std::move(sink)},
                              request = std::move(request)] { state->start(number, active, request); });
  return number;
}

void EngineThread::cancel(uint64_t number) {
  state_->work.push([state = state_.get(), number] { state->cancel(number); });
}

void EngineThread::load(std::string name, std::string path, bool replace, Done done) {
  state_->work.push([state = state_.get(), name = std::move(name), path = std::move(path), replace,
                     done = std::move(done)] { state->begin_load(name, path, replace, done); });
}

void EngineThread::unload(std::string name, Done done) {
  state_->work.push([state = state_.get(), name = std::move(name), done = std::move(done)] {
    state->begin_unload(name, done);
  });
}

void EngineThread::pause(PauseMode mode, Done done) {
  state_->work.push([state = state_.get(), mode, done = std::move(done)] {
    state->paused = mode;
    state->pausing.push_back(done);
    if (mode == PauseMode::abort) state->abort_all();
  });
}

void EngineThread::resume() {
  state_->work.push([state = state_.get()] {
    state->paused.reset();
    for (auto& request : std::exchange(state->held, {})) state->submit(std::move(request));
    for (const auto& done : std::exchange(state->pausing, {})) done(fail("resumed before it had paused"));
  });
}

EngineThread::Stats EngineThread::stats() const {
  const std::lock_guard lock(state_->stats_mutex);
  return state_->shown;
}

}  // namespace nereus::serving
