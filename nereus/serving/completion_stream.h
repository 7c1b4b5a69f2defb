#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "nereus/http/channel.h"
#include "nereus/serving/completion_request.h"
#include "nereus/serving/engine_thread.h"
#include "nereus/text/stop_strings.h"
#include "nereus/text/stream_decoder.h"

namespace nereus::serving {

/// What one token added to a completion.
struct CompletionPiece {
  uint32_t completion = 0;
  std::string text;  ///< safe to show; "" where it only begins a character or perhaps a stop string
  int32_t token = 0;
  float logprob = 0;
};

/// A request's end: its group, and the text of each completion that the pieces have not given yet.
struct CompletionEnd {
  tl::expected<rollout::Group, Refusal> group;
  std::vector<std::string> tails;
  std::vector<std::string> stops;  ///< the stop string that ended each, "" where none did
};

using CompletionEvent = std::variant<CompletionPiece, CompletionEnd>;

/// Turns a request's tokens into text on the engine's thread, ends completions at stop strings, and hands all
/// to the coroutine that answers: piece by piece for a stream, else at the end, which wakes the network's
/// thread once. Special tokens give no text.
class CompletionStream final : public CompletionSink {
 public:
  CompletionStream(const text::Tokenizer& tokenizer, const CompletionRequest& request,
                   std::shared_ptr<http::Channel<CompletionEvent>> events);

  bool on_token(uint32_t completion, int32_t token, float logprob) override;
  void on_end(tl::expected<rollout::Group, Refusal> group) override;

 private:
  struct Text {
    text::StreamDecoder decoder;
    text::StopStrings stops;
    std::string whole = {};  // where there are no pieces
  };
  const bool pieces_;
  std::vector<Text> texts_;
  std::shared_ptr<http::Channel<CompletionEvent>> events_;
};

}  // namespace nereus::serving
