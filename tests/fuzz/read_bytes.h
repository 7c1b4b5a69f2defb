#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nereus/formats/mapped_file.h"

namespace nereus::fuzz {

/// The fuzzer's input as a file.
inline std::shared_ptr<const formats::MappedFile> as_file(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  return formats::MappedFile::from_bytes(std::move(bytes));
}

/// Reads every byte of the tensors, so that the sanitizer sees whether they lie inside the file.
template <class Tensors>
void touch(const Tensors& tensors) {
  volatile unsigned sum = 0;
  for (const auto& tensor : tensors) {
    for (const std::byte byte : tensor.bytes) sum = sum + std::to_integer<unsigned>(byte);
  }
}

/// A broken promise of the reader: libFuzzer keeps the input.
inline void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace nereus::fuzz
