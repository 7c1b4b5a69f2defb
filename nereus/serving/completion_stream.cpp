#include "nereus/serving/completion_stream.h"

namespace nereus::serving {

CompletionStream::CompletionStream(const text::Tokenizer& tokenizer, const CompletionRequest& request,
                                   std::shared_ptr<http::Channel<CompletionEvent>> events)
    : pieces_(request.stream), events_(std::move(events)) {
  texts_.reserve(request.count);
  for (uint32_t i = 0; i < request.count; ++i)
    texts_.push_back({text::StreamDecoder(tokenizer, true), text::StopStrings(request.stop)});
}

bool CompletionStream::on_token(uint32_t completion, int32_t token, float logprob) {
  auto& text = texts_.at(completion);
  auto step = text.stops.push(text.decoder.push(token));
  if (pieces_)
    events_->push(CompletionPiece{completion, std::move(step.text), token, logprob});
  else
    text.whole += step.text;
  return !step.stopped;
}

void CompletionStream::on_end(tl::expected<rollout::Group, Refusal> group) {
  CompletionEnd end{std::move(group), {}, {}};
  for (auto& text : texts_) {
    std::string tail = text.stops.push(text.decoder.finish()).text;
    end.stops.push_back(text.stops.found());
    end.tails.push_back(std::move(text.whole) + tail + text.stops.finish());
  }
  events_->push(std::move(end));
  events_->close();
}

}  // namespace nereus::serving
