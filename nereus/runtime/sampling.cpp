#include "nereus/runtime/sampling.h"

#include <algorithm>

namespace nereus::runtime {

bool StopWatch::goes_on(uint64_t prompt, uint32_t completion, int32_t token) {
  if (stops_.empty()) return true;
  auto& text = texts_
                   .try_emplace({prompt, completion},
                                Growing{text::StreamDecoder(tokenizer_, true), text::StopStrings(stops_)})
                   .first->second;
  return !text.stops.push(text.decoder.push(token)).stopped;
}

void StopWatch::forget(uint64_t prompt) {
  texts_.erase(texts_.lower_bound({prompt, 0}), texts_.lower_bound({prompt + 1, 0}));
}

void add_stop_ids(rollout::SamplingOptions& sampling, const spec::ModelConfig& model,
                  const text::Tokenizer& tokenizer, const std::vector<std::string>& stops) {
  const auto add = [&](int64_t id) {
    const auto token = static_cast<int32_t>(id);
    if (std::ranges::find(sampling.stop_ids, token) == sampling.stop_ids.end())
      sampling.stop_ids.push_back(token);
  };
  for (const int64_t id : model.eos_ids) add(id);
  for (const int32_t id : tokenizer.eos()) add(id);
  for (const auto& stop : stops)
    if (const auto id = tokenizer.id(stop); id && tokenizer.special(*id)) add(*id);
}

std::string completion_text(const rollout::Completion& completion, const text::Tokenizer& tokenizer,
                            const std::vector<std::string>& stops) {
  std::string text = tokenizer.decode(completion.tokens, true);
  if (stops.empty()) return text;
  text::StopStrings watch(stops);
  auto step = watch.push(text);
  return step.stopped ? step.text : text;
}

Result<std::vector<rollout::Group>> sample(rollout::Generator& generator, const std::vector<Prompt>& prompts,
                                           const SamplePlan& plan, const text::Tokenizer& tokenizer,
                                           const SampledTokens& on_tokens) {
  std::vector<rollout::Request> requests;
  for (const Prompt& prompt : prompts)
    requests.push_back({prompt.id, prompt.tokens, plan.completions, plan.seed, plan.sampling});
  StopWatch watch(tokenizer, plan.stops);
  int64_t tokens = 0;
  return rollout::generate_all(generator, std::move(requests),
                               [&](uint64_t prompt, uint32_t completion, int32_t token, float /*logprob*/) {
                                 ++tokens;
                                 if (on_tokens) on_tokens(tokens);
                                 return watch.goes_on(prompt, completion, token);
                               });
}

}  // namespace nereus::runtime
