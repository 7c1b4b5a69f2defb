#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "nereus/http/loop.h"
#include "nereus/runtime/policy_sampler.h"
#include "nereus/serving/backend_api.h"
#include "nereus/serving/bucket.h"
#include "nereus/serving/remote_generator.h"

namespace nereus::runtime {

struct RemoteSamplerOptions {
  serving::RemoteOptions remote;  ///< a server, or a proxy before several
  std::filesystem::path bucket;   ///< folder that trainer and servers see under the same path
  size_t keep = 5;                ///< versions that stay servable
  std::string fingerprint;        ///< of the base model
  std::string base_model;         ///< path, for PEFT's base_model_name_or_path
  double start_seconds = 60;      ///< at the start, for a server to be there
  double load_seconds = 60;       ///< for the servers to take a new adapter
};

/// Servers elsewhere: a new policy goes as an adapter into the bucket, and every server is told of it before
/// the first request names it. Numbers in the bucket only grow: after a resume from an older checkpoint they
/// go on beyond the newest one there, and stand for the trainer's versions from then on.
class RemoteSampler : public PolicySampler {
 public:
  /// Error: the bucket cannot be used, no server answers, or it serves another base model.
  static Result<std::unique_ptr<RemoteSampler>> connect(RemoteSamplerOptions options);
  ~RemoteSampler() override;

  void hand_over(const model::Transformer& trained, int64_t version) override;
  void hand_over(const checkpoint::Adapter& trained, int64_t version);
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
  Result<int64_t> publish(const Handed& handed);
  Result<std::optional<int64_t>> offer();
  Status load(int64_t number);
  void load_again();
  void retire();
  void tidy(int64_t oldest);
  Result<http::Response> call(http::Request request, double seconds);
  http::Task<Result<http::Response>> ask(http::Request request, double seconds);
  http::Task<> unload_older(int64_t oldest);

  RemoteSamplerOptions options_;
  serving::Bucket bucket_;
  std::unique_ptr<serving::BackendApi> api_;
  http::Loop loop_;
  std::shared_ptr<http::Client> client_;  ///< also of calls that nobody waits for
  std::unique_ptr<serving::RemoteGenerator> generator_;
  std::vector<int64_t> servable_;      ///< numbers, oldest first
  std::optional<int64_t> offset_;      ///< number minus version
  std::optional<Handed> unpublished_;  ///< not yet in the bucket
  std::optional<int64_t> unloaded_;    ///< published, not yet on the servers
  double next_try_at_ = 0;
  std::atomic<bool> tidying_ = false;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::optional<Handed> handed_;
  std::string trouble_;
  double failing_since_ = 0;
};

}  // namespace nereus::runtime
