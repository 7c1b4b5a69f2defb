#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

#include "nereus/base/result.h"
#include "nereus/formats/gguf.h"
#include "nereus/spec/model_config.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {

/// A model on disk: a Hugging Face folder (config.json with model.safetensors, or with shards and
/// model.safetensors.index.json) or a .gguf file. Mapped, so opening is cheap. Immutable after opening, so
/// thread-safe; copies share the mapping.
class Source {
 public:
  /// Checks, before anything is read, that every tensor of the model is there with the expected shape and
  /// an element type that can be read. Errors name the file, and the key or the tensor.
  static Result<Source> open(const std::filesystem::path& path);

  const spec::ModelConfig& config() const;
  const std::filesystem::path& path() const;

  /// The tensor in fp32, contiguous, of the spec's shape; dequantised where the file is quantised. Rows of
  /// q and k, which GGUF files of the Llama family keep in another order, come in Hugging Face's order.
  Result<at::Tensor> read(const spec::TensorSpec& spec) const;

  /// As `read`, into an existing fp32 view on the CPU with the spec's shape whose rows are contiguous (such
  /// as rows of a fused matrix): the weights exist once.
  Status read_into(const spec::TensorSpec& spec, at::Tensor destination) const;

  /// The GGUF file, which also holds the tokenizer; nullptr for a Hugging Face folder.
  const formats::GgufFile* gguf() const;

 private:
  struct Files;
  std::shared_ptr<const Files> files_;
};

}  // namespace nereus::checkpoint
