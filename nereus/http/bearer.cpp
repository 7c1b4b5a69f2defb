#include "nereus/http/bearer.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace nereus::http {

namespace {

constexpr std::string_view kScheme = "Bearer ";

/// Digests are of one length, so that comparing them does not tell the token's.
std::array<unsigned char, SHA256_DIGEST_LENGTH> digest(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());
  return bytes;
}

}  // namespace

bool has_bearer(const Headers& headers, std::string_view token) {
  std::string_view value = headers.get("Authorization");
  const bool scheme =
      value.size() >= kScheme.size() && equal_without_case(value.substr(0, kScheme.size()), kScheme);
  const auto given = digest(scheme ? value.substr(kScheme.size()) : value);
  const auto expected = digest(token);
  return CRYPTO_memcmp(given.data(), expected.data(), given.size()) == 0 && scheme;
}

}  // namespace nereus::http
