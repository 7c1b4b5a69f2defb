#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nereus::text {

/// The character by which GPT-2's vocabulary files write a byte: printable Latin-1 stands for itself, the
/// other 68 bytes for U+0100 onwards (a space is "Ġ"). github.com/openai/gpt-2, src/encoder.py.
std::string byte_to_char(uint8_t byte);

/// The bytes that such a text stands for; nothing where one of its characters is not of that alphabet.
std::optional<std::string> alphabet_to_bytes(std::string_view text);

}  // namespace nereus::text
