#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/rollout/types.h"
#include "nereus/tasks/data_order.h"
#include "nereus/tasks/dataset.h"
#include "nereus/text/prompt_encoder.h"

namespace nereus::runtime {

/// A sample with its ids, and its number in the data stream.
struct Prompt {
  uint64_t id = 0;
  tasks::Sample sample;
  rollout::Tokens tokens;
};

/// The error for a prompt that is longer than fits.
tl::unexpected<Error> too_long(const std::string& source, size_t tokens, int64_t most);

struct PromptStreamOptions {
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t max_tokens = 0;  ///< longest prompt
  bool skip_long = false;  ///< skip and count longer ones; else they are errors
};

/// The run's stream of prompts. Its place is one number, the cursor, so that a run can go on where it was.
/// Not thread-safe; does not own the data set.
class PromptStream {
 public:
  PromptStream(const tasks::Dataset& data, const text::PromptEncoder& encoder, PromptStreamOptions options)
      : data_(data),
        encoder_(encoder),
        options_(options),
        order_(data.size(), options.seed, options.shuffle) {}

  /// The next `count` prompts. Error: an over-long prompt (or, where they are skipped, two passes over the
  /// data without a shorter one), or the data cannot be read.
  Result<std::vector<Prompt>> take(int64_t count);
  /// A prompt that was taken before, by its id.
  Result<Prompt> at(uint64_t id) const;

  uint64_t cursor() const { return cursor_; }
  int64_t skipped() const { return skipped_; }  ///< over-long prompts so far
  void restore(uint64_t cursor, int64_t skipped) { cursor_ = cursor, skipped_ = skipped; }

 private:
  const tasks::Dataset& data_;
  const text::PromptEncoder& encoder_;
  PromptStreamOptions options_;
  tasks::DataOrder order_;
  uint64_t cursor_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace nereus::runtime
