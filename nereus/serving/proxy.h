#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nereus/http/exchange.h"
#include "nereus/serving/fleet.h"
#include "nereus/serving/routing.h"

namespace nereus::serving {

struct ProxyOptions {
  FleetOptions fleet;
  RouterOptions routing;
  int attempts = 3;                      ///< servers that a request is offered before its failure is told
  double wait_seconds = 15;              ///< for a server to be there, when none serves
  double head_seconds = 3600;            ///< from a request to the first byte of its answer
  double piece_seconds = 600;            ///< without a byte of an answer
  int64_t max_running = 8192;            ///< requests at once; more get 429
  double drain_seconds = 30;             ///< that unloading waits for requests that use the adapter
  uint64_t max_answer_bytes = 64 << 20;  ///< of an answer that is no stream
  size_t text_block_bytes = 64;          ///< a prompt that comes as text is cut in such blocks for routing
};

/// Spreads requests of OpenAI's API over servers: prompts that share a prefix to the server that has it,
/// adapters to all servers or none. Keeps nothing on disk. Lives on the loop's thread.
///
///   POST /v1/completions, /v1/chat/completions   routed; streams pass through as they come
///   GET  /v1/models, /health, /metrics
///   POST /v1/load_lora_adapter, /v1/unload_lora_adapter, /pause, /resume   broadcast, all or nothing
class Proxy {
 public:
  Proxy(http::Loop& loop, ProxyOptions options);
  /// Ends the health checks and waits for them. REQUIRES: not on the loop's thread; no request is under way.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Begins the health checks: no server gets requests before its first one. Thread-safe; once.
  void start();

  /// Answers one request: the handler of an http::Server.
  http::Task<> handle(http::Exchange& exchange);
  Fleet& fleet() { return fleet_; }
  struct Counts {
    uint64_t requests = 0, affinity = 0, fresh = 0, spilled = 0, retries = 0, failed = 0, refused = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  /// A request to be passed on.
  struct Job {
    http::Request request;
    std::string model;             // "" where it names none
    std::vector<uint64_t> blocks;  // of its prompt
    std::vector<bool> tried;       // by server
    bool adapter = false;          // whether `model` is one
  };
  /// What became of an offer to one server: answered to the client, or a reason and what to answer if nobody
  /// does better.
  struct Offer {
    bool answered = true;
    std::string reason{};
    http::Response response{};
  };

  http::Task<> complete(http::Exchange& exchange);
  http::Task<Result<Job>> read_job(http::Exchange& exchange);
  http::Task<> pass_on(http::Exchange& exchange, Job& job);
  Backend* choose(Job& job);
  http::Task<Backend*> wait_for_server(http::Exchange& exchange, Job& job);
  bool known(Job& job) const;
  http::Task<Offer> offer(http::Exchange& exchange, Job& job, Backend& backend);
  http::Task<Offer> relay(http::Exchange& exchange, const Job& job, Backend& backend, http::Answer& answer);
  http::Task<Offer> relay_whole(http::Exchange& exchange, const Job& job, Backend& backend,
                                http::Answer& answer);
  http::Task<Offer> relay_stream(http::Exchange& exchange, Backend& backend, http::Answer& answer);
  /// Nothing where the answer is one for the client, whatever its status.
  std::optional<Offer> judge(const Job& job, Backend& backend, http::Response& response);

  http::Task<> change(http::Exchange& exchange, std::string path);
  http::Response models() const;
  /// Without `details` it tells nothing of the servers.
  http::Response health(bool details) const;
  http::Response metrics() const;

  http::Loop& loop_;
  const ProxyOptions options_;
  Fleet fleet_;
  PrefixRouter router_;
  std::vector<bool> eligible_;  // by server, of the choice that is being made
  std::vector<int64_t> loads_;
  SteadyClock clock_;
  int64_t running_ = 0;
  Counts counts_;
  std::future<void> watching_;
};

}  // namespace nereus::serving
