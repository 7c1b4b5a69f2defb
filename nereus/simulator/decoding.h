#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nereus::simulator {

/// One sequence to be generated.
struct Request {
  int32_t prompt = 0, response = 0;  ///< tokens
};

/// What one replica can do. Iterations are given as functions so that a test can count by hand.
struct DecodingReplica {
  double kv_tokens = 0;                             ///< tokens of KV that its pool holds
  int32_t block = 16;                               ///< tokens a block
  std::function<double(double, double)> iteration;  ///< seconds, of (sequences, tokens of KV in all)
  std::function<double(double)> prefill;            ///< seconds, of the tokens of prompts computed at once
};

/// What came of it.
struct DecodingResult {
  double seconds = 0;
  int64_t iterations = 0, events = 0;
  int64_t preempted = 0;  ///< sequences that lost their KV because the pool was full, and were computed again
  double batch = 0;       ///< mean number of sequences, by iterations
  double kv_peak = 0;     ///< tokens
  bool fits = true;       ///< false: a sequence alone exceeds the pool
};

/// Continuous batching: sequences enter in order while the pool has room for them, every iteration adds a
/// token to each, a sequence that is done gives its blocks back at once; when the pool is full the one that
/// entered last waits anew and its tokens so far are prefilled again (the policy of vLLM; Kwon et al.,
/// "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023). Iterations
/// between two such events differ in the length of the context alone, so a block of them is summed at once:
/// exactly where their time is linear in it.
DecodingResult decode(const DecodingReplica& replica, std::span<const Request> requests);

}  // namespace nereus::simulator
