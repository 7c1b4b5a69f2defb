#pragma once

#include <filesystem>
#include <string>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// Tells models apart without reading all of them: SHA-256 over the name, size, and first and last MiB of
/// each of a model's files (a .gguf file, or the .safetensors and .json files of a folder).
Result<std::string> model_fingerprint(const std::filesystem::path& model);

}  // namespace nereus::runtime
