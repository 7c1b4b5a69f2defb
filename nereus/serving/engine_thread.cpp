#include "nereus/serving/engine_thread.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "nereus/base/clock.h"

namespace nereus::serving {

namespace {

constexpr int kFailedSteps = 3;

/// A request until its end.
struct Active {
  std::string model;
  rollout::Request request;
  std::shared_ptr<CompletionSink> sink;
  bool running = false;  // or waiting for its key
  bool cancelled = false;
};

struct Model {
  Model() = default;
  Model(std::unique_ptr<rollout::Generator> made, std::string from)
      : generator(std::move(made)), path(std::move(from)) {}

  std::unique_ptr<rollout::Generator> generator;
  std::string path;                      // "" of the base
  std::map<uint64_t, uint64_t> running;  // prompt id, until the generator gives its group, to the request
  std::vector<EngineThread::Done> unloading;
  int failed_steps = 0;  // in a row
  std::string broken;    // why it computes no more; "" while it does
};

/// Work in turn for one thread; `next` blocks. Thread-safe.
class WorkQueue {
 public:
  void push(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    filled_.notify_one();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_one();
  }
  /// What is there; with `wait`, until something is. Nothing once closed and empty.
  std::deque<std::function<void()>> take(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) filled_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    return std::exchange(queue_, {});
  }
  bool closed() {
    const std::lock_guard lock(mutex_);
    return closed_ && queue_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> queue_;
  bool closed_ = false;
};

}  // namespace

struct EngineThread::State {
  State(AdapterLoader given, EngineThreadOptions with) : loader(std::move(given)), options(std::move(with)) {}

  void run();
  void run_loader();
  void start(uint64_t number, Active active);
  void try_start(uint64_t number);
  void start_waiting();
  void step(Model& model);
  Result<std::vector<rollout::Group>> step_guarded(Model& model);
  void finish(uint64_t number, tl::expected<rollout::Group, Refusal> group);
  void fail_all(Model& model, const std::string& why);
  void cancel(uint64_t number);
  void begin_load(const std::string& name, const std::string& path, const Done& done);
  void begin_unload(const std::string& name, const Done& done);
  void settle();
  void abort_all();
  static bool busy(const Model& model);
  bool computing() const;
  void publish_stats();

  const AdapterLoader loader;
  const EngineThreadOptions options;
  WorkQueue work, loads;

  // Of the engine's thread.
  std::map<std::string, Model> models;  // "" is the base
  std::map<uint64_t, Active> requests;
  std::map<std::string, std::vector<Done>> loading;
  std::optional<PauseMode> paused;
  std::vector<Done> pausing;
  Stats counts;

  mutable std::mutex stats_mutex;
  Stats shown;
  std::atomic<uint64_t> next_number = 1;
  std::thread engine_thread, loader_thread;
};

void EngineThread::State::finish(uint64_t number, tl::expected<rollout::Group, Refusal> group) {
  const auto found = requests.find(number);
  if (found == requests.end()) return;
  const Active active = std::move(found->second);
  requests.erase(found);
  if (active.cancelled)
    ++counts.cancelled;
  else if (!group)
    ++(group.error().status >= 500 ? counts.failed : counts.refused);
  else
    ++counts.finished;
  active.sink->on_end(std::move(group));
}

void EngineThread::State::start(uint64_t number, Active active) {
  if (active.model == options.base_name) active.model.clear();
  const auto model = models.find(active.model);
  const bool known = model != models.end() && model->second.unloading.empty();
  const bool full = requests.size() >= options.max_requests;
  ++counts.accepted;
  const std::string name = active.model;
  requests.emplace(number, std::move(active));
  if (!known)
    return finish(number, tl::unexpected(Refusal{404, fmt::format("no model \"{}\" is served", name)}));
  if (full)
    return finish(number,
                  tl::unexpected(Refusal{
                      429, fmt::format("{} requests run or wait already; try later", options.max_requests)}));
  try_start(number);
}

void EngineThread::State::try_start(uint64_t number) {
  Active& active = requests.at(number);
  Model& model = models.at(active.model);
  // Two requests of one key would draw the same numbers, and could not be told apart: one after the other.
  if (!model.broken.empty()) return finish(number, tl::unexpected(Refusal{503, model.broken}));
  if (model.running.contains(active.request.prompt_id)) return;
  if (paused && *paused != PauseMode::keep) return;
  const auto sink = active.sink;
  const auto submitted = model.generator->submit(
      active.request, [this, sink](uint64_t, uint32_t completion, int32_t token, float logprob) {
        ++counts.tokens;
        return sink->on_token(completion, token, logprob);
      });
  if (!submitted) return finish(number, tl::unexpected(Refusal{400, submitted.error().message}));
  active.running = true;
  model.running.emplace(active.request.prompt_id, number);
}

void EngineThread::State::start_waiting() {
  std::vector<uint64_t> waiting;
  for (const auto& [number, active] : requests)
    if (!active.running) waiting.push_back(number);
  for (const uint64_t number : waiting) try_start(number);
}

void EngineThread::State::cancel(uint64_t number) {
  const auto found = requests.find(number);
  if (found == requests.end()) return;
  found->second.cancelled = true;
  if (found->second.running)
    models.at(found->second.model).generator->cancel(found->second.request.prompt_id);
  finish(number, tl::unexpected(Refusal{499, "cancelled"}));
}

void EngineThread::State::fail_all(Model& model, const std::string& why) {
  const auto running = model.running;
  for (const auto& [prompt_id, number] : running) {
    model.generator->cancel(prompt_id);
    finish(number, tl::unexpected(Refusal{500, why}));
  }
  // Without its requests the next step gives their groups back; a generator that fails at that too is lost.
  if (++model.failed_steps < kFailedSteps) return;
  model.broken = fmt::format("the engine failed {} times in a row: {}", model.failed_steps, why);
  model.running.clear();
}

Result<std::vector<rollout::Group>> EngineThread::State::step_guarded(Model& model) {
  try {
    return model.generator->step();
  } catch (const std::exception& error) {
    return fail("{}", error.what());
  }
}

void EngineThread::State::step(Model& model) {
  const SteadyClock clock;
  const Stopwatch watch(clock);
  auto groups = step_guarded(model);
  counts.step_seconds += watch.seconds();
  if (!groups) return fail_all(model, groups.error().message);
  model.failed_steps = 0;
  for (auto& group : *groups) {
    const auto found = model.running.find(group.prompt_id);
    if (found == model.running.end()) continue;
    const uint64_t number = found->second;
    model.running.erase(found);
    finish(number, std::move(group));  // nothing where it was cancelled, and so has ended
  }
}

bool EngineThread::State::busy(const Model& model) {
  return model.broken.empty() && !model.generator->idle();
}

bool EngineThread::State::computing() const {
  if (paused == PauseMode::keep) return false;
  return std::ranges::any_of(models, [](const auto& m) { return busy(m.second); });
}

/// Requests that run end with what they have, once the next step gives it.
void EngineThread::State::abort_all() {
  const auto all = requests;
  for (const auto& [number, active] : all) {
    if (active.running)
      models.at(active.model).generator->cancel(active.request.prompt_id);
    else
      finish(number, tl::unexpected(Refusal{503, "generation is paused"}));
  }
}

/// What waits for requests to end, where they have.
void EngineThread::State::settle() {
  std::vector<std::pair<std::string, std::vector<Done>>> gone;
  for (auto& [name, model] : models) {
    if (model.unloading.empty()) continue;
    const bool used = std::ranges::any_of(requests, [&](const auto& r) { return r.second.model == name; });
    if (!used) gone.emplace_back(name, std::move(model.unloading));
  }
  for (auto& [name, waiting] : gone) {
    models.erase(name);
    publish_stats();
    for (const auto& done : waiting) done({});
  }
  if (!paused || computing()) return;
  for (const auto& done : std::exchange(pausing, {})) done({});
}

void EngineThread::State::run() {
  while (true) {
    publish_stats();
    for (const auto& command : work.take(!computing())) command();
    if (work.closed()) break;
    if (paused != PauseMode::keep)
      for (auto& [name, model] : models)
        if (busy(model)) step(model);
    start_waiting();
    settle();
  }
  while (!requests.empty()) cancel(requests.begin()->first);
  for (const auto& done : std::exchange(pausing, {})) done(fail("the server is ending"));
  for (auto& [name, model] : models)
    for (const auto& done : model.unloading) done(fail("the server is ending"));
}

void EngineThread::State::run_loader() {
  while (!loads.closed())
    for (const auto& load : loads.take(true)) load();
}

void EngineThread::State::begin_load(const std::string& name, const std::string& path, const Done& done) {
  if (const auto found = models.find(name); found != models.end()) {
    if (found->second.path == path && found->second.unloading.empty()) return done({});
    return done(fail("{}: is loaded already, from {}", name, found->second.path));
  }
  if (models.size() - 1 + loading.size() >= options.adapter_slots)
    return done(fail("{}: all {} adapter slots are in use; unload one first", name, options.adapter_slots));
  const bool first = loading[name].empty();
  loading[name].push_back(done);
  if (!first) return;
  loads.push([this, name, path] {
    // A shared pointer, because std::function must be copyable.
    auto made = std::make_shared<Result<std::unique_ptr<rollout::Generator>>>(loader(name, path));
    work.push([this, name, path, made] {
      const Status status = *made ? Status() : Status(pass(*made));
      if (*made) models[name] = Model{std::move(**made), path};
      publish_stats();
      for (const auto& waiting : std::exchange(loading[name], {})) waiting(status);
      loading.erase(name);
    });
  });
}

void EngineThread::State::begin_unload(const std::string& name, const Done& done) {
  const auto found = models.find(name);
  if (name.empty() || found == models.end()) return done(fail("{}: the adapter cannot be found", name));
  found->second.unloading.push_back(done);
}

void EngineThread::State::publish_stats() {
  counts.waiting = counts.running = 0;
  for (const auto& [number, active] : requests) ++(active.running ? counts.running : counts.waiting);
  counts.paused = paused.has_value();
  counts.broken = models.at("").broken;
  counts.adapters.clear();
  for (const auto& [name, model] : models)
    if (!name.empty()) counts.adapters.push_back({name, model.path});
  const std::lock_guard lock(stats_mutex);
  shown = counts;
}

EngineThread::EngineThread(std::unique_ptr<rollout::Generator> base, AdapterLoader loader,
                           EngineThreadOptions options)
    : state_(std::make_unique<State>(std::move(loader), std::move(options))) {
  state_->models[""] = Model{std::move(base), ""};
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
  state_->work.push([state = state_.get(), number,
                     active = Active{std::move(model), std::move(request), std::move(sink), false, false}] {
    state->start(number, active);
  });
  return number;
}

void EngineThread::cancel(uint64_t number) {
  state_->work.push([state = state_.get(), number] { state->cancel(number); });
}

void EngineThread::load(std::string name, std::string path, Done done) {
  state_->work.push([state = state_.get(), name = std::move(name), path = std::move(path),
                     done = std::move(done)] { state->begin_load(name, path, done); });
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
    for (const auto& done : std::exchange(state->pausing, {})) done(fail("resumed before it had paused"));
  });
}

EngineThread::Stats EngineThread::stats() const {
  const std::lock_guard lock(state_->stats_mutex);
  return state_->shown;
}

}  // namespace nereus::serving
