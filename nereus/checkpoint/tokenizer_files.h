#pragma once

#include <filesystem>

#include "nereus/base/result.h"
#include "nereus/checkpoint/source.h"

namespace nereus::checkpoint {

/// Gives `folder` the tokenizer of `source`: the files of a Hugging Face folder copied, or tokenizer.json and
/// tokenizer_config.json (with the chat template) built from a GGUF file. Errors name file and key.
Status write_tokenizer_files(const std::filesystem::path& folder, const Source& source);

}  // namespace nereus::checkpoint
