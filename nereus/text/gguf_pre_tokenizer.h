#pragma once

#include <string_view>

#include "nereus/base/result.h"
#include "nereus/text/normalizer.h"
#include "nereus/text/pre_tokenizer.h"

namespace nereus::text {

/// What a GGUF file leaves to a name: the value of its `tokenizer.ggml.pre` stands for all of this.
struct GgufPreTokenizer {
  PreTokenizer pre_tokenizer;
  Normalizer normalizer;
  bool ignore_merges = false;
  bool add_bos = false;  ///< where the file does not say
};

/// Of the model that the name is of, as its tokenizer.json has it; for "default" as llama.cpp defines it.
/// Unknown names are errors that list the known ones.
Result<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name, std::string_view where);

}  // namespace nereus::text
