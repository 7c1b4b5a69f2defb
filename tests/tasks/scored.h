#pragma once

#include <string>
#include <vector>

#include "nereus/tasks/reward.h"

namespace nereus::tasks {

/// Completions with the samples that they belong to.
class Scored {
 public:
  /// `text` is a completion of a sample with these columns.
  Scored& add(std::string text, OrderedJson columns = {{"answer", "42"}}) {
    samples_.push_back({.id = samples_.size(),
                        .source = fmt::format("data.jsonl:{}", samples_.size() + 1),
                        .prompt = "What is it?",
                        .columns = std::move(columns)});
    texts_.push_back(std::move(text));
    return *this;
  }

  std::vector<RewardInput> inputs() const {
    std::vector<RewardInput> all;
    for (size_t i = 0; i < samples_.size(); ++i)
      all.push_back({.sample = &samples_[i], .text = texts_[i], .completion = &completion_});
    return all;
  }

 private:
  std::vector<Sample> samples_;
  std::vector<std::string> texts_;
  rollout::Completion completion_{
      .index = 0, .tokens = {1, 2, 3}, .logprobs = {}, .versions = {}, .finish = rollout::Finish::stop};
};

/// The error's message, or "" where there is none.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace nereus::tasks
