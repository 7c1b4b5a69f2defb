#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/base/json.h"

namespace nereus::serving {

/// Hashes of the blocks of a request's prompt, for routing: of token ids where "prompt" is a list of them (or
/// of the first list), else of the prompt's text, or of the chat's messages as text.
std::vector<uint64_t> prompt_blocks(const OrderedJson& request, const std::string& model, size_t block_tokens,
                                    size_t block_bytes);

}  // namespace nereus::serving
