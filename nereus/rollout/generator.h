#pragma once

#include <functional>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/types.h"

namespace nereus::rollout {

/// Told of each token as it is sampled, on the thread that calls `step`; false ends the completion with
/// Finish::stop (a stop string was found).
using TokenCallback =
    std::function<bool(uint64_t prompt_id, uint32_t completion, int32_t token, float logprob)>;

/// Samples completions with continuous batching: the seam between who wants completions and who makes them.
/// It holds no text. Not thread-safe: one thread submits and steps.
class Generator {
 public:
  virtual ~Generator() = default;

  /// Queues a request. Error: the prompt is empty, or longer than the context or the KV pool can ever hold.
  virtual Status submit(Request request, TokenCallback on_token = {}) = 0;

  /// Ends all completions of a prompt that still run, with Finish::cancelled, and frees their memory.
  virtual void cancel(uint64_t prompt_id) = 0;

  /// One step of the batch: admits what fits, computes, samples. Returns the groups that it finished.
  virtual Result<std::vector<Group>> step() = 0;

  virtual bool idle() const = 0;

  /// Number of the policy that samples now.
  virtual int64_t version() const = 0;
};

/// Submits all requests and steps until they are done; groups come in the order of the requests.
Result<std::vector<Group>> generate_all(Generator& generator, std::vector<Request> requests,
                                        const TokenCallback& on_token = {});

}  // namespace nereus::rollout
