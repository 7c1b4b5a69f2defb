#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/generator.h"
#include "nereus/serving/backend_api.h"
#include "nereus/serving/work_queue.h"

namespace nereus::serving {

/// How adapters come to a generator that serves any number of them in one batch, by `Request::policy`.
struct AdapterHooks {
  /// Reads an adapter from a folder, on a thread of its own while the generator computes. What it returns is
  /// called once, on the engine's thread between two steps, and makes the generator answer under that name;
  /// requests under way that have another adapter of that name go on under this one.
  std::function<Result<std::function<void()>>(const std::string& name, const std::string& path)> load;
  /// Takes it away, on the engine's thread, when no request uses it.
  std::function<void(const std::string& name)> remove;
};

struct EngineThreadOptions {
  std::string base_name = "model";  ///< requests for it, or for no model, use the base
  size_t max_requests = 1024;       ///< that run or wait; more are refused
  size_t adapter_slots = 8;
  /// An idle engine that gets a request waits for those that come with it, since the step that it would
  /// begin with one holds all others up. A busy one takes them all between two steps.
  Burst burst = {.quiet = 0.001, .most = 0.005};
  std::function<void()> on_start = [] {};  ///< what the engine's thread does before all else
};

/// Why a request was not served, with the HTTP status that says so.
struct Refusal {
  int status = 500;
  std::string message;
};

/// Told of one request's tokens and its end, on the engine's thread; must return soon.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// False ends that completion (a stop string was found).
  virtual bool on_token(uint32_t completion, int32_t token, float logprob) = 0;
  /// Called once, at the end. A cancelled request ends too.
  virtual void on_end(tl::expected<rollout::Group, Refusal> group) = 0;
};

/// Owns a generator and the thread that steps it. One failed step fails the requests in it, never the thread.
/// All functions are thread-safe and return at once.
class EngineThread {
 public:
  EngineThread(std::unique_ptr<rollout::Generator> generator, AdapterHooks hooks,
               EngineThreadOptions options);
  /// Ends what runs.
  ~EngineThread();

  /// Queues a request for a model by name and gives its number. `request.stream` with its seed keys the
  /// random numbers; prompt id and policy are set here.
  uint64_t submit(std::string model, rollout::Request request, std::shared_ptr<CompletionSink> sink);
  /// Its memory is free before the next step.
  void cancel(uint64_t number);

  using Done = std::function<void(Status)>;
  /// Error: the loader's, no free slot, or, unless it is to be replaced, the name is in use with another
  /// path. Requests under way go on under an adapter that replaces theirs.
  void load(std::string name, std::string path, bool replace, Done done);
  /// Done when no request uses it; new ones are refused at once. Error: no such adapter.
  void unload(std::string name, Done done);
  /// Done when nothing computes any more. Requests that come meanwhile wait for `resume`.
  void pause(PauseMode mode, Done done);
  void resume();

  struct Adapter {
    std::string name, path;
  };
  struct Stats {
    size_t running = 0;  ///< requests
    bool paused = false;
    uint64_t accepted = 0, finished = 0, refused = 0, failed = 0, cancelled = 0, tokens = 0;
    uint64_t prompt_tokens = 0, cached_tokens = 0;  ///< of requests that finished; found in a prefix cache
    double step_seconds = 0;                        ///< in steps, since the start
    std::string broken;                             ///< why it computes no more; "" while it does
    std::vector<Adapter> adapters;
  };
  Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nereus::serving
