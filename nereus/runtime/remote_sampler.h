#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "nereus/http/client.h"
#include "nereus/http/loop.h"
#include "nereus/runtime/policy_sampler.h"
#include "nereus/serving/backend_api.h"
#include "nereus/serving/bucket.h"
#include "nereus/serving/remote_generator.h"

namespace nereus::runtime {

struct RemoteSamplerOptions {
  serving::RemoteOptions remote;  ///< a server, or a proxy before several
  size_t keep = 5;                ///< versions that stay servable
  std::string fingerprint;        ///< of the base model
  std::string base_model;         ///< path, for PEFT's base_model_name_or_path
  double start_seconds = 60;      ///< at the start, for a server to be there
  double load_seconds = 60;       ///< for the servers to take a new adapter
};

/// Servers elsewhere: a new policy goes as an adapter into the bucket, and every server is told of it before
/// the first request names it. A thread does that, so that sampling never waits for it. Numbers in the bucket
/// only grow: after a resume from an older checkpoint they go on beyond the newest one there, and stand for
/// the trainer's versions from then on.
class RemoteSampler : public PolicySampler {
 public:
  /// The bucket is one that trainer and servers see under the same path. Error: it cannot be used, no server
  /// answers, or it serves another base model.
  static Result<std::unique_ptr<RemoteSampler>> connect(RemoteSamplerOptions options, serving::Bucket bucket);
  ~RemoteSampler() override;

  void hand_over(const model::Transformer& trained, int64_t version) override;
  void hand_over(const checkpoint::Adapter& trained, int64_t version);
  /// Error: the bucket or the servers could not take a new policy for `remote.give_up_seconds`.
  Result<std::optional<int64_t>> adopt() override;
  rollout::Generator& generator() override { return *generator_; }
  std::string trouble() const override;
  bool embedded() const override { return false; }

 private:
  struct Handed {
    int64_t version;
    checkpoint::Adapter adapter;
  };

  RemoteSampler(RemoteSamplerOptions options, serving::Bucket bucket);
  Result<http::Response> first_answer();
  Status check_server();
  Result<http::Response> call(http::Request request, double seconds);
  http::Task<Result<http::Response>> ask(http::Request request, double seconds);

  // The publishing thread:
  void publish_loop();
  bool wait_for_work();
  Status work();
  void note(const Status& done);
  Result<int64_t> publish(const Handed& handed);
  Status load(int64_t number);
  void load_again();
  void retire();
  bool is_own(const std::filesystem::path& adapter) const;
  void tidy(int64_t oldest);
  http::Task<> unload_older(int64_t oldest);

  RemoteSamplerOptions options_;
  serving::Bucket bucket_;
  std::unique_ptr<serving::BackendApi> api_;
  http::Loop loop_;
  http::Client client_{loop_};  ///< until the loop is closed, also of calls that nobody waits for
  std::unique_ptr<serving::RemoteGenerator> generator_;
  std::stop_source stop_calls_;
  std::atomic<bool> tidying_ = false;
  // The publishing thread's:
  std::vector<int64_t> servable_;      ///< numbers, oldest first
  std::optional<int64_t> offset_;      ///< number minus version
  std::optional<Handed> unpublished_;  ///< not yet in the bucket
  std::optional<int64_t> unloaded_;    ///< published, not yet on the servers
  double failing_since_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::optional<Handed> handed_;
  std::optional<int64_t> ready_;  ///< on the servers, not yet asked for
  int64_t ready_version_ = 0;
  bool adopted_ = false;  ///< older ones may go
  bool stop_ = false;
  std::string trouble_;
  std::optional<Error> error_;

  std::thread publisher_;
};

}  // namespace nereus::runtime
