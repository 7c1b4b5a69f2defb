#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "nereus/http/message.h"

namespace nereus::http {

enum class MessageKind : uint8_t { request, response };

struct ParserLimits {
  uint32_t header_bytes = 64 << 10;  ///< start line and fields together
  uint64_t body_bytes = uint64_t{1} << 40;
};

/// What is wrong with a message, and the status that a server answers it with.
struct ParseFailure {
  int status = 400;
  std::string message;
};

/// Reads one HTTP/1.0 or 1.1 message from pieces of bytes. Trailers and chunk extensions are read and
/// dropped. Not thread-safe.
class Parser {
 public:
  /// `bodiless`: the response answers a HEAD request, and has no body whatever its fields say.
  Parser(MessageKind kind, ParserLimits limits, bool bodiless = false);
  ~Parser();
  Parser(Parser&&) noexcept;

  /// Takes bytes from the front of `input` and returns how many: the rest is incomplete, and is to be offered
  /// again with more behind it, or belongs to the next message. REQUIRES: not done().
  tl::expected<size_t, ParseFailure> put(std::string_view input);
  /// The peer closed: the end of a response without a length, else a failure.
  tl::expected<void, ParseFailure> end();

  bool head_done() const;
  bool done() const;
  /// Whether a byte was taken.
  bool started() const;

  // REQUIRES for all below: head_done().
  const std::string& method() const;
  const std::string& target() const;
  int status() const;
  int minor_version() const;  ///< of HTTP/1
  const Headers& headers() const;
  /// Method, target and headers to keep; what the parser has of them is empty from then on.
  Request take_request();
  Headers take_headers();
  /// Whether the connection may carry another message after this one.
  bool keep_alive() const;
  /// Bytes of the body that `put` took since the last call.
  std::string take_body();
  size_t body_held() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nereus::http
