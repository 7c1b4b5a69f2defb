#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/checkpoint/named_tensor.h"

namespace nereus::train {

/// Trained tensors, moments and counters of a trainer, in a checkpoint's folder.
inline constexpr const char* kStateFile = "trainer.safetensors";

/// Writes fp32 CPU tensors and counters (as metadata) to one safetensors file, atomically.
Status write_state(const std::filesystem::path& path, const std::vector<checkpoint::NamedTensor>& tensors,
                   const std::map<std::string, std::string>& counters);

/// Reads exactly these tensors in place and returns the counters in the order asked for. Nothing is changed
/// unless the whole file fits: a tensor that is missing, left over or of another shape is an error.
Result<std::vector<double>> read_state(const std::filesystem::path& path,
                                       const std::vector<checkpoint::NamedTensor>& tensors,
                                       const std::vector<std::string>& counters);

}  // namespace nereus::train
