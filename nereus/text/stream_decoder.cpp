#include "nereus/text/stream_decoder.h"

#include <utility>

#include "nereus/text/utf8.h"

namespace nereus::text {

StreamDecoder::StreamDecoder(Tokenizer tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

std::string StreamDecoder::push(int32_t id) {
  if (skip_special_ && tokenizer_.special(id)) return {};
  pending_ += tokenizer_.bytes(id);
  std::string out;
  move_valid_utf8(pending_, out);
  return out;
}

std::string StreamDecoder::finish() {
  return to_valid_utf8(std::exchange(pending_, {}));
}

}  // namespace nereus::text
