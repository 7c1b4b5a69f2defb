#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nereus::rollout {

/// Ids of tokens; what a tokenizer gave is never decoded and encoded again.
using Tokens = std::vector<int32_t>;

/// How tokens are drawn. Applied in this order: temperature, top-k, top-p, min-p.
struct SamplingOptions {
  float temperature = 1.0F;  ///< 0: greedy. The log-prob of a greedy token is that at temperature 1
  int32_t top_k = 0;         ///< keep the k most likely tokens; 0: all
  float top_p = 1.0F;        ///< keep the fewest most likely tokens whose mass reaches it; 1: all
  float min_p = 0.0F;        ///< keep tokens at least this fraction as likely as the likeliest; 0: all
  int32_t max_new_tokens = 256;
  Tokens stop_ids;  ///< every end-of-sequence id; the stop token is part of the completion

  /// Whether the sampled distribution has full support (else importance ratios are biased).
  bool full_support() const { return top_k == 0 && top_p >= 1.0F && min_p <= 0.0F; }
};

enum class Finish : uint8_t {
  stop,       ///< a stop id or a stop string
  length,     ///< max_new_tokens or the context was reached
  cancelled,  ///< its owner gave up
};

/// One sampled answer.
struct Completion {
  uint32_t index = 0;             ///< in its group
  Tokens tokens;                  ///< with the stop token, where one ended it
  std::vector<float> logprobs;    ///< one a token, of the distribution that sampled it
  std::vector<int64_t> versions;  ///< policy version that sampled each token
  Finish finish = Finish::length;
};

/// The completions of one prompt.
struct Group {
  uint64_t prompt_id = 0;  ///< number of the prompt in the run's data stream
  Tokens prompt;
  std::vector<Completion> completions;
  int64_t cached_tokens = 0;  ///< of the prompt, that were found in a cache rather than computed
};

/// A prompt to be completed `count` times.
struct Request {
  uint64_t prompt_id = 0;  ///< no other request that runs has it
  Tokens prompt;
  uint32_t count = 1;
  uint64_t seed = 0;  ///< of the run: streams are keyed by (seed, prompt_id, completion, position)
  SamplingOptions sampling;
  std::string policy = {};  ///< name of the adapter that answers; empty: the generator's own policy
  std::optional<uint64_t> stream = {};  ///< keys the random numbers in place of prompt_id
};

}  // namespace nereus::rollout
