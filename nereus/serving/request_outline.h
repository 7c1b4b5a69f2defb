#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::serving {

/// What routing needs of a request for completions.
struct RequestOutline {
  std::string model;             ///< "" where it names none
  std::vector<uint64_t> blocks;  ///< hashes of the blocks of its prompt
};

/// Reads the outline from a request's JSON, which it checks and does not keep. Blocks are of token ids where
/// "prompt" is a list of them (or of the first list), else of the prompt's text, or of the texts in a chat's
/// "messages". Error: no JSON object, nested deeper than 256 levels, or a key that decides twice in it, of
/// which another reader might take the other one.
Result<RequestOutline> read_outline(std::string_view body, size_t block_tokens, size_t block_bytes);

}  // namespace nereus::serving
