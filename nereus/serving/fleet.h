#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "nereus/base/clock.h"
#include "nereus/base/result.h"
#include "nereus/http/client.h"
#include "nereus/serving/backend_api.h"
#include "nereus/serving/backend_state.h"

namespace nereus::serving {

struct BackendOptions {
  http::Url url;
  BackendKind kind = BackendKind::nereus;
  std::string token{};  ///< sent as a bearer token; "": none
};

struct FleetOptions {
  std::vector<BackendOptions> backends{};
  double check_seconds = 2;   ///< between two health checks of a server
  double answer_seconds = 5;  ///< a health check that takes longer has failed
  double load_seconds = 60;   ///< to load or unload an adapter, pause or resume
  int failures = 3;           ///< in a row, of checks or requests: the server gets no more requests
  size_t adapter_slots = 8;   ///< adapters that every server can hold at once
  std::string authorities{};  ///< PEM file for https servers; "": the system's
  std::string canary{};       ///< a prompt by which a new adapter is proved to act; "": none is
};

/// One server.
struct Backend {
  explicit Backend(BackendOptions given, int failure_limit)
      : options(std::move(given)),
        api(make_backend_api(options.kind)),
        checks(failure_limit),
        answers(failure_limit) {}

  const BackendOptions options;
  const std::unique_ptr<BackendApi> api;
  BackendState state = BackendState::unknown;
  FailureCount checks, answers;    ///< of health checks and of requests
  std::string reason;              ///< of the last failure
  std::string identity;            ///< of its base model; "" until it was told
  double admit_at = 0;             ///< when an ejected server may be checked again
  double backoff = 0;              ///< seconds that the next ejection lasts
  std::stop_source ejection;       ///< asks requests under way to go elsewhere
  std::set<std::string> models;    ///< base models
  std::set<std::string> adapters;  ///< those it is known to hold
  int64_t running = 0;             ///< requests under way
  uint64_t requests = 0, errors = 0, ejections = 0;

  std::string name() const { return options.url.text(); }
};

/// The servers behind a proxy and the adapters that all of them hold: publishes an adapter to all or to none,
/// checks health, ejects, and gives a server that returns the adapters before any request. Changes come one
/// at a time; each wait has a deadline. Lives on the loop's thread.
class Fleet {
 public:
  Fleet(http::Loop& loop, FleetOptions options);

  /// Health checks until `stop` was called. REQUIRES: the fleet outlives it.
  http::Task<> watch();
  /// Ends the checks, and whatever waits for a server. Thread-safe.
  void stop() { stop_.request_stop(); }

  /// Loads an adapter on every server that serves. Where one refuses, it is unloaded from the others; the
  /// error says which server and what it answered. A server that does not answer is ejected, and gets the
  /// adapter before it serves again. Nothing is to do where it is published already from the same path. With
  /// a canary, an adapter under which a server answers as its base model does is refused likewise, unless
  /// none has acted yet: one that was not trained changes nothing. `in_place`: it takes the place of the one
  /// with its name, from another folder than that has; it comes back where a server refuses.
  http::Task<Status> publish(std::string adapter, std::string path, bool in_place = false);
  /// Unloads it likewise, once no request uses it; an error, and nothing changed, where some still do after
  /// `wait_seconds`.
  http::Task<Status> withdraw(std::string adapter, double wait_seconds);
  http::Task<Status> pause(PauseMode mode);
  http::Task<Status> resume();

  /// Sends a request to a server, with its token, which is set in it. REQUIRES: the request lives until the
  /// answer's head is there.
  http::Task<Result<std::unique_ptr<http::Answer>>> send(Backend& backend, http::Request& request,
                                                         http::CallOptions options);
  /// Counts a request that failed, or was answered, towards ejection.
  void report_failure(Backend& backend, const std::string& reason);
  void report_success(Backend& backend);
  /// A server said that it has not an adapter that it was given.
  void report_lost_adapters(Backend& backend);
  /// Requests of an adapter that run, counted by the one who sends them.
  void begin_use(const std::string& adapter) { ++in_use_[adapter]; }
  void end_use(const std::string& adapter);

  /// Serves now and has the model or adapter ("": any model).
  bool can_serve(const Backend& backend, const std::string& model) const;
  bool is_adapter(const std::string& model) const { return adapters_.contains(model); }
  /// Whether any server, also one that is away, is known to have it as a base model.
  bool is_model(const std::string& model) const;
  const std::map<std::string, std::string>& adapters() const { return adapters_; }  ///< name to path
  std::vector<std::unique_ptr<Backend>>& backends() { return backends_; }
  const std::vector<std::unique_ptr<Backend>>& backends() const { return backends_; }
  size_t index(const Backend& backend) const;
  const FleetOptions& options() const { return options_; }
  /// Called with the index of a server whose prefix cache is gone.
  void on_restart(std::function<void(size_t)> restarted) { on_restart_ = std::move(restarted); }

  struct Counts {
    uint64_t published = 0, withdrawn = 0, undone = 0, unproved = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Outcome {
    size_t backend = 0;
    enum class Kind : uint8_t { done, refused, silent, unchanged } kind = Kind::done;
    std::string reason{};
  };
  using Ask = std::function<std::optional<http::Request>(const Backend&)>;
  using Accepts = std::function<bool(const Backend&, const http::Response&)>;

  http::Task<bool> begin_change();
  void end_change() { changing_ = false; }
  http::Task<Result<http::Response>> call(Backend& backend, http::Request request, double seconds);
  http::Task<Outcome> ask(size_t backend, const Ask& request, const Accepts& accepts);
  http::Task<std::vector<Outcome>> ask_all(const std::vector<size_t>& targets, const Ask& request,
                                           const Accepts& accepts);
  http::Task<Status> change_all(std::string what, Ask request, Accepts accepts, Ask undo);
  http::Task<Outcome> ask_canary(size_t backend, std::string adapter);
  Status judge_canaries(const std::string& adapter, const std::vector<Outcome>& outcomes);
  http::Task<Status> prove(const std::string& adapter, const Ask& undo);
  Status may_publish(const std::string& adapter, const std::string& path, bool in_place) const;
  http::Task<Status> publish_now(const std::string& adapter, const std::string& path, bool in_place);
  http::Task<Status> unused(const std::string& adapter, double wait_seconds);
  http::Task<Status> unload(const std::string& adapter, const std::string& path);
  std::vector<size_t> serving() const;
  void apply(Backend& backend, BackendEvent event, const std::string& reason);

  http::Task<> watch_one(size_t backend);
  http::Task<> check(Backend& backend);
  http::Task<Result<ServedModels>> list(Backend& backend);
  void compare(Backend& backend, const std::set<std::string>& had, const ServedModels& served);
  Status check_base(Backend& backend, const ServedModels& served);
  void adopt(const ServedModels& served);
  http::Task<> sync(Backend& backend);
  http::Task<Status> sync_once(Backend& backend);
  http::Task<Status> give(Backend& backend, const std::string& adapter, const std::string& path);

  http::Loop& loop_;
  const FleetOptions options_;
  http::Client client_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::map<std::string, std::string> adapters_;
  std::map<std::string, int64_t> in_use_;
  std::set<std::string> leaving_;    // gone from `adapters_`, but requests still use them
  std::set<std::string> withdrawn_;  // gone from `adapters_`, perhaps still on a server that was away
  std::set<std::string> replaced_;   // others may be under these names on a server that was away
  std::string fingerprint_;          // of the base model; "" until a server told it
  SteadyClock clock_;
  bool changing_ = false, paused_ = false;
  bool proved_ = false;  // whether an adapter was seen to act
  std::stop_source stop_;
  std::function<void(size_t)> on_restart_;
  Counts counts_;
};

}  // namespace nereus::serving
