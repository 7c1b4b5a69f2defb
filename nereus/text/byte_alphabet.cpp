#include "nereus/text/byte_alphabet.h"

#include <array>

#include "nereus/text/utf8.h"

namespace nereus::text {

namespace {

constexpr char32_t kShifted = 0x100;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> code{};        ///< by byte
  std::array<int16_t, 0x100 + 68> byte{};  ///< by code, -1 where none
};

constexpr Alphabet make_alphabet() {
  Alphabet out;
  out.byte.fill(-1);
  char32_t next = kShifted;
  for (unsigned byte = 0; byte < 256; ++byte) {
    out.code[byte] = stands_for_itself(byte) ? byte : next++;
    out.byte[out.code[byte]] = static_cast<int16_t>(byte);
  }
  return out;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string byte_to_char(uint8_t byte) {
  std::string out;
  append_utf8(kAlphabet.code[byte], out);
  return out;
}

std::optional<std::string> alphabet_to_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (c.kind != Utf8Char::Kind::complete || c.code >= kAlphabet.byte.size() || kAlphabet.byte[c.code] < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(kAlphabet.byte[c.code]);
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace nereus::text
