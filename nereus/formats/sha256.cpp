#include "nereus/formats/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

#include "nereus/formats/mapped_file.h"

namespace nereus::formats {

std::string sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL offers no SHA-256");
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

Result<std::string> sha256_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return pass(file);
  return sha256((*file)->bytes());
}

}  // namespace nereus::formats
