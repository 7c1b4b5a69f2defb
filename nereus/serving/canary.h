#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/http/message.h"

namespace nereus::serving {

/// What a server answers to the canary: the likeliest continuation of a fixed prompt.
struct CanaryAnswer {
  std::string text;
  std::vector<double> logprobs;  ///< of its tokens; empty where the server gives none
};

/// A request for a few tokens, sampled greedily, by a model or adapter.
http::Request canary_request(std::string_view model, std::string_view prompt);
/// Error: the server refused, or its answer is no completion.
Result<CanaryAnswer> read_canary(const http::Response& answer);
/// Whether two answers are of two policies: the text is another one, or a log-prob differs by more than the
/// order of sums may change it.
bool differs(const CanaryAnswer& a, const CanaryAnswer& b);

}  // namespace nereus::serving
