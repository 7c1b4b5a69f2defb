#include "nereus/runtime/prompts.h"

namespace nereus::runtime {

tl::unexpected<Error> too_long(const std::string& source, size_t tokens, int64_t most) {
  return fail(
      "{}: the prompt has {} tokens, at most {} fit; data.skip_long_prompts = true skips such prompts",
      source, tokens, most);
}

Result<Prompt> PromptStream::at(uint64_t id) const {
  auto sample = data_.at(order_.index(id));
  if (!sample) return pass(sample);
  auto tokens = encoder_.encode(sample->prompt, sample->source);
  if (!tokens) return pass(tokens);
  return Prompt{id, std::move(*sample), std::move(*tokens)};
}

Result<std::vector<Prompt>> PromptStream::take(int64_t count) {
  std::vector<Prompt> prompts;
  uint64_t skipped_in_a_row = 0;
  while (std::ssize(prompts) < count) {
    auto prompt = at(cursor_);
    if (!prompt) return pass(prompt);
    const bool fits = std::ssize(prompt->tokens) <= options_.max_tokens;
    if (!fits && !options_.skip_long)
      return too_long(prompt->sample.source, prompt->tokens.size(), options_.max_tokens);
    if (fits) prompts.push_back(std::move(*prompt));
    ++cursor_;
    skipped_ += fits ? 0 : 1;
    skipped_in_a_row = fits ? 0 : skipped_in_a_row + 1;
    // Two passes in different orders may have a whole pass of long ones between two short ones.
    if (skipped_in_a_row >= 2 * data_.size())
      return fail("{}: every prompt is longer than {} tokens", data_.description(), options_.max_tokens);
  }
  return prompts;
}

}  // namespace nereus::runtime
