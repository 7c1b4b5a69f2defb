#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nereus/http/message.h"
#include "nereus/http/url.h"

namespace nereus::http {

/// The standard's words for a status; "Unknown" for one that it has none for.
std::string_view reason_phrase(int status);

/// Fields that belong to one connection and are never passed on by a proxy, nor set by a handler.
bool is_hop_field(std::string_view name);

/// How the end of a message's body is known.
struct Framing {
  std::optional<uint64_t> length;  ///< Content-Length
  bool chunked = false;
  std::string_view connection;  ///< value of the Connection field; "": none
};

/// "HTTP/1.1 200 OK" and the fields, with the empty line behind. Hop fields in `headers` are left out, and
/// line ends within values become spaces.
std::string response_head(int status, const Headers& headers, const Framing& framing);
/// "POST /x HTTP/1.1" likewise, with Host; the origin's path comes before the request's target.
std::string request_head(const Request& request, const Url& origin, const Framing& framing);

/// The line before a chunk of so many bytes; behind it comes kLineEnd.
std::string chunk_line(size_t bytes);
inline constexpr std::string_view kLineEnd = "\r\n", kLastChunk = "0\r\n\r\n";

}  // namespace nereus::http
