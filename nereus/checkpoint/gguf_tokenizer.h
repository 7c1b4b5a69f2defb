#pragma once

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/formats/gguf.h"
#include "nereus/spec/model_config.h"

namespace nereus::checkpoint {

/// tokenizer.json, as Hugging Face's tokenizers read it, of a GGUF file's byte-level BPE. The file names its
/// pre-tokenizer only; an unknown name is an error, since guessing it would change ids.
Result<OrderedJson> tokenizer_json(const formats::GgufFile& file);

/// tokenizer_config.json: special tokens and the chat template.
Result<OrderedJson> tokenizer_config_json(const formats::GgufFile& file, const spec::ModelConfig& config);

}  // namespace nereus::checkpoint
