#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "nereus/base/result.h"

namespace nereus::http {

/// "http://HOST:PORT/PREFIX" in its parts.
struct Url {
  bool tls = false;
  std::string host;
  uint16_t port = 80;
  std::string path;  ///< without a slash at its end; "" for the root

  /// Error: not http or https, no host, a port out of range, or a user name, query or fragment in it.
  static Result<Url> parse(std::string_view text);
  /// "HOST:PORT", with brackets where the host is an IPv6 address.
  std::string authority() const;
  /// "http://HOST:PORT", by which connections are shared.
  std::string origin() const;
  std::string text() const { return origin() + path; }
};

/// Orders URLs by what `origin` tells of them.
struct OriginLess {
  bool operator()(const Url& a, const Url& b) const {
    return std::tie(a.port, a.tls, a.host) < std::tie(b.port, b.tls, b.host);
  }
};

}  // namespace nereus::http
