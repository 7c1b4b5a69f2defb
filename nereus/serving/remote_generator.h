#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "nereus/http/client.h"
#include "nereus/http/loop.h"
#include "nereus/rollout/generator.h"

namespace nereus::serving {

struct RemoteOptions {
  http::Url url{};               ///< of a server, or of a proxy before any number of them
  std::string token{};           ///< bearer token; "": none
  double answer_seconds = 3600;  ///< for a whole answer
  double retry_seconds = 1;      ///< pause before a failed request is sent again; doubles up to 30
  double give_up_seconds = 600;  ///< without any answer, while requests fail: then `step` is an error
  double wait_seconds = 0.05;    ///< that `step` waits for an answer
};

/// Samples by servers of OpenAI's API that take and return token ids (`nereus serve`, vLLM), one request a
/// prompt. Requests that fail are sent again; an answer that another policy than the one asked for had a part
/// in is thrown away and asked for again. Stop strings are looked for when an answer is there. Used by one
/// thread, not the loop's; outlived by the loop.
class RemoteGenerator : public rollout::Generator {
 public:
  RemoteGenerator(http::Loop& loop, RemoteOptions options);
  /// Gives up what runs.
  ~RemoteGenerator() override;

  Status submit(rollout::Request request, rollout::TokenCallback on_token = {}) override;
  void cancel(uint64_t prompt_id) override;
  /// Waits a little for answers. Error: a server refused a request as wrong, or none answered for too long.
  Result<std::vector<rollout::Group>> step() override;
  bool idle() const override { return running_.empty(); }
  int64_t version() const override { return number_ - offset_; }

  /// Requests submitted from now on name this model. Servers say `number` of its tokens, which here become
  /// those of version number - offset.
  void set_policy(std::string name, int64_t number, int64_t offset);
  /// What went wrong last, while requests fail; "" otherwise.
  std::string trouble() const;

 private:
  struct Running {
    rollout::Request request;
    rollout::TokenCallback on_token;
    std::stop_source stop;
  };
  using Answered = std::pair<uint64_t, Result<rollout::Group>>;

  http::Task<> ask(rollout::Request request, int64_t number, int64_t version, std::stop_token stop);
  http::Task<Result<http::Response>> send(const rollout::Request& request, std::stop_token stop);
  void deliver(uint64_t prompt_id, Result<rollout::Group> group);
  void note_trouble(const std::string& what);

  http::Loop& loop_;
  const RemoteOptions options_;
  std::unique_ptr<http::Client> client_;  ///< the loop's
  std::string policy_;
  int64_t number_ = 0, offset_ = 0;
  std::map<uint64_t, Running> running_;

  mutable std::mutex mutex_;
  std::condition_variable answered_;
  // Guarded by mutex_:
  std::deque<Answered> answers_;
  std::string trouble_;
  double failing_since_ = 0;
  int64_t asking_ = 0;  ///< coroutines that have not ended
};

/// The body of a request for completions by token ids.
OrderedJson remote_request(const rollout::Request& request);
/// A group from the answer to it, its tokens marked with `version`. Error: what the answer lacks, or that
/// another policy than that of `number` had a part in it.
Result<rollout::Group> remote_group(const rollout::Request& request, const Json& answer, int64_t number,
                                    int64_t version);

}  // namespace nereus::serving
