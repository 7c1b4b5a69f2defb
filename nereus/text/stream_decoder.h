#pragma once

#include <cstdint>
#include <string>

#include "nereus/text/tokenizer.h"

namespace nereus::text {

/// Text of a growing sequence of ids: a character comes out once all its bytes are there, so every piece is
/// valid UTF-8, and the pieces together equal `Tokenizer::decode` of all ids. Not thread-safe.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, bool skip_special);
  /// Text that the id completes, "" where it only begins a character.
  std::string push(int32_t id);
  /// What is left of a character that never came to its end, as U+FFFD. Ready for another sequence after.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  bool skip_special_;
  std::string pending_;  ///< at most 3 bytes: the beginning of a character
};

}  // namespace nereus::text
