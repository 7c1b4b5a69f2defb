#include "nereus/text/utf8.h"

namespace nereus::text {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// What a lead byte asks for: length, and the range of the second byte (Unicode 15, table 3-7).
struct Lead {
  uint8_t length = 0, low = 0x80, high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .low = 0xA0};
  if (byte == 0xED) return {.length = 3, .high = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .low = 0x90};
  if (byte < 0xF4) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .high = 0x8F};
  return {};
}

}  // namespace

Utf8Char first_char(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {Utf8Char::Kind::invalid, 1};
  if (lead.length == 1) return {Utf8Char::Kind::complete, 1, byte(0)};
  char32_t code = byte(0) & (0x7Fu >> lead.length);
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Utf8Char::Kind::truncated, i};
    const unsigned char low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Utf8Char::Kind::invalid, i};
    code = code << 6 | (byte(i) & 0x3F);
  }
  return {Utf8Char::Kind::complete, lead.length, code};
}

bool valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Char c = first_char(bytes);
    if (c.kind != Utf8Char::Kind::complete) return false;
    bytes.remove_prefix(c.length);
  }
  return true;
}

void move_valid_utf8(std::string& bytes, std::string& out) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Utf8Char c = first_char(rest);
    if (c.kind == Utf8Char::Kind::truncated) break;
    out += c.kind == Utf8Char::Kind::complete ? rest.substr(0, c.length) : kReplacement;
    rest.remove_prefix(c.length);
  }
  bytes.erase(0, bytes.size() - rest.size());
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string rest(bytes), out;
  out.reserve(bytes.size());
  move_valid_utf8(rest, out);
  if (!rest.empty()) out += kReplacement;
  return out;
}

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), tail(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), tail(6), tail(0);
  } else {
    put(0xF0 | code >> 18), tail(12), tail(6), tail(0);
  }
}

}  // namespace nereus::text
