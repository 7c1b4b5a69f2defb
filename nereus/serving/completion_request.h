#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/rollout/types.h"

namespace nereus::serving {

/// What a request may ask for, and what it gets where it asks for nothing.
struct RequestLimits {
  uint32_t max_count = 128;           ///< answers to one prompt
  int32_t default_new_tokens = 1024;  ///< longest answer of a chat
  int32_t vocab_size = 0;             ///< ids at or beyond it are refused; 0: no check
};

/// A request of OpenAI's API for completions or a chat, with the names that vLLM gave to what OpenAI's lacks
/// (docs/serving.md lists them).
struct CompletionRequest {
  bool chat = false;
  std::string model;                          ///< "": the base
  std::optional<rollout::Tokens> prompt_ids;  ///< the prompt, where it came as ids
  std::string prompt_text;                    ///< else, of a completion
  OrderedJson messages;                       ///< else, of a chat
  OrderedJson template_variables;  ///< more of what the chat template reads: tools, chat_template_kwargs
  uint32_t count = 1;
  rollout::SamplingOptions sampling;  ///< end-of-sequence ids are still to be added
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::optional<uint64_t> seed;
  std::optional<uint64_t> prompt_id;  ///< keys the random stream together with the seed
  bool logprobs = false;
  bool return_token_ids = false;
  bool stream = false, include_usage = false;
};

/// Error: names the key, and what was expected. Keys that would change the answer and are not supported are
/// errors; unknown ones are left alone, as OpenAI's clients send more and more of them.
Result<CompletionRequest> read_completion_request(const OrderedJson& body, bool chat,
                                                  const RequestLimits& limits);

}  // namespace nereus::serving
