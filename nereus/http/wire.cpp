#include "nereus/http/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace nereus::http {

namespace {

constexpr size_t kUsualHead = 512;

struct Phrase {
  int status;
  std::string_view words;
};

constexpr Phrase kPhrases[] = {{100, "Continue"},
                               {200, "OK"},
                               {201, "Created"},
                               {202, "Accepted"},
                               {204, "No Content"},
                               {301, "Moved Permanently"},
                               {302, "Found"},
                               {304, "Not Modified"},
                               {400, "Bad Request"},
                               {401, "Unauthorized"},
                               {403, "Forbidden"},
                               {404, "Not Found"},
                               {405, "Method Not Allowed"},
                               {408, "Request Timeout"},
                               {409, "Conflict"},
                               {411, "Length Required"},
                               {413, "Content Too Large"},
                               {415, "Unsupported Media Type"},
                               {422, "Unprocessable Content"},
                               {429, "Too Many Requests"},
                               {431, "Request Header Fields Too Large"},
                               {499, "Client Closed Request"},
                               {500, "Internal Server Error"},
                               {501, "Not Implemented"},
                               {502, "Bad Gateway"},
                               {503, "Service Unavailable"},
                               {504, "Gateway Timeout"},
                               {505, "HTTP Version Not Supported"},
                               {507, "Insufficient Storage"}};

constexpr std::array<std::string_view, 9> kHopFields = {
    "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Content-Length", "TE", "Trailer",
    "Upgrade",    "Expect"};

void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  const auto begin = static_cast<ptrdiff_t>(head.size());
  head.append(value);
  // A line end in a value would begin a field, or a message, of somebody else's choice.
  std::replace_if(
      head.begin() + begin, head.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  head.append(kLineEnd);
}

constexpr std::array<bool, 256> token_characters() {
  std::array<bool, 256> is = {};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789")) is[static_cast<unsigned char>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) is[static_cast<size_t>(c)] = is[static_cast<size_t>(c - 'a' + 'A')] = true;
  return is;
}

bool is_token(std::string_view name) {
  static constexpr auto kIs = token_characters();
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return kIs[c]; });
}

void append_fields(std::string& head, const Headers& headers, const Framing& framing) {
  for (const auto& [name, value] : headers)
    if (is_token(name) && !is_hop_field(name)) append_field(head, name, value);
  if (framing.length) append_field(head, "Content-Length", std::to_string(*framing.length));
  if (framing.chunked) append_field(head, "Transfer-Encoding", "chunked");
  if (!framing.connection.empty()) append_field(head, "Connection", framing.connection);
  head.append(kLineEnd);
}

}  // namespace

std::string_view reason_phrase(int status) {
  const auto* found = std::ranges::find(kPhrases, status, &Phrase::status);
  return found == std::end(kPhrases) ? "Unknown" : found->words;
}

bool is_hop_field(std::string_view name) {
  return std::ranges::any_of(kHopFields, [&](auto field) { return equal_without_case(field, name); });
}

std::string response_head(int status, const Headers& headers, const Framing& framing) {
  std::string head;
  head.reserve(kUsualHead);
  head.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason_phrase(status));
  head.append(kLineEnd);
  append_fields(head, headers, framing);
  return head;
}

std::string request_head(const Request& request, const Url& origin, const Framing& framing) {
  std::string head;
  head.reserve(kUsualHead);
  head.append(request.method).append(" ").append(origin.path).append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.has("Host")) append_field(head, "Host", origin.authority());
  append_fields(head, request.headers, framing);
  return head;
}

std::string chunk_line(size_t bytes) {
  return fmt::format("{:x}\r\n", bytes);
}

}  // namespace nereus::http
