#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "nereus/base/result.h"

namespace nereus::formats {

/// SHA-256 of bytes, as 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

/// SHA-256 of a file's bytes.
Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace nereus::formats
