#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "nereus/http/exchange.h"
#include "nereus/http/loop.h"
#include "nereus/serving/completion_request.h"
#include "nereus/serving/engine_thread.h"
#include "nereus/text/chat_template.h"
#include "nereus/text/tokenizer.h"

namespace nereus::serving {

class CompletionAnswer;
class CompletionCall;

struct EndpointOptions {
  std::string model_name = "model";  ///< as clients name the base model
  std::string fingerprint;           ///< of the base model; adapters and proxies compare it
  std::string root;                  ///< where the base model came from
  rollout::Tokens end_ids;           ///< end-of-sequence ids of model and tokenizer, all of them
  RequestLimits limits;
  size_t adapter_slots = 8;
  std::filesystem::path adapter_root;  ///< adapters must be within it; "": anywhere
  uint64_t seed = 0;                   ///< of requests without one
};

/// The endpoints of a server of one model over an EngineThread:
///
///   POST /v1/completions, /v1/chat/completions
///   GET  /v1/models, /health, /metrics
///   POST /v1/load_lora_adapter, /v1/unload_lora_adapter, /pause?mode=, /resume
///
/// A client that leaves ends its request. Lives on the loop's thread; outlived by loop and engine.
class Endpoint {
 public:
  /// `chat` may be absent: chats are refused then, unless they come as ids.
  Endpoint(http::Loop& loop, EngineThread& engine, text::Tokenizer tokenizer,
           std::optional<text::ChatTemplate> chat, EndpointOptions options);

  http::Task<> handle(http::Exchange& exchange);

 private:
  http::Task<> complete(http::Exchange& exchange, bool chat);
  http::Task<> answer_whole(http::Exchange& exchange, CompletionAnswer& answer, CompletionCall& call);
  http::Task<> answer_stream(http::Exchange& exchange, CompletionAnswer& answer, CompletionCall& call);
  http::Task<> change(http::Exchange& exchange, const std::string& path);
  http::Task<Status> pause(PauseMode mode);
  http::Task<Status> load(std::string name, std::string asked, bool replace);
  http::Task<Status> unload(std::string name);
  http::Task<Status> await_engine(std::function<void(EngineThread::Done)> start);
  Result<rollout::Tokens> prompt_of(const CompletionRequest& request) const;
  rollout::Request request_of(const CompletionRequest& asked, rollout::Tokens prompt);
  http::Response models() const;
  http::Response health() const;
  http::Response metrics() const;

  http::Loop& loop_;
  EngineThread& engine_;
  const text::Tokenizer tokenizer_;
  const std::optional<text::ChatTemplate> chat_;
  const EndpointOptions options_;
  uint64_t requests_ = 0;
};

}  // namespace nereus::serving
