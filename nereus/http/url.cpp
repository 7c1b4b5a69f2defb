#include "nereus/http/url.h"

#include <algorithm>
#include <charconv>

namespace nereus::http {

namespace {

Result<uint16_t> parse_port(std::string_view text, std::string_view whole) {
  uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc() || end != text.data() + text.size() || port == 0)
    return fail("{}: expected a port from 1 to 65535 behind the colon", whole);
  return port;
}

bool plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 127; });
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    url.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return fail("{}: expected a URL that begins with http:// or https://", text);
  }
  if (!plain(rest) || rest.find_first_of("?#@\\") != std::string_view::npos)
    return fail("{}: expected a URL of host, port and path alone", text);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, slash);
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  const size_t bracket = host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0;
  const size_t colon = host.find(':', bracket);
  if (colon != std::string_view::npos) {
    const auto port = parse_port(host.substr(colon + 1), text);
    if (!port) return pass(port);
    url.port = *port;
    host = host.substr(0, colon);
  }
  if (bracket > 0 && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return fail("{}: expected a host", text);
  url.host = host;
  return url;
}

std::string Url::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]:" : host + ":") + std::to_string(port);
}

std::string Url::origin() const {
  return (tls ? "https://" : "http://") + authority();
}

}  // namespace nereus::http
