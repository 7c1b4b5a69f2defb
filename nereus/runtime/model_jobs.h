#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>

#include "nereus/base/result.h"

namespace nereus::runtime {

/// Sizes of a new model of the Llama family.
struct InitCommand {
  std::filesystem::path folder;
  std::filesystem::path tokenizer_from;  ///< a model whose tokenizer and vocabulary it takes over
  int64_t hidden = 64, intermediate = 128, layers = 2, heads = 4, kv_heads = 2, context = 512;
  bool untied = false;  ///< a head of its own instead of the embedding
  uint64_t seed = 0;
  std::string dtype = "f32";
};
/// Writes a Hugging Face folder with random weights. Error: sizes that do not fit one another.
Status init_model(const InitCommand& command);

struct ConvertCommand {
  std::filesystem::path from;     ///< Hugging Face folder or .gguf file
  std::filesystem::path adapter;  ///< merged into the weights; empty: none
  std::filesystem::path to;       ///< Hugging Face folder
  std::string dtype = "f32";      ///< f32, bf16, f16
};
/// Writes a model as a Hugging Face folder that Transformers loads; quantised weights are expanded. Error:
/// the folder holds a model already.
Status convert_model(const ConvertCommand& command);

struct InspectCommand {
  std::filesystem::path path;  ///< Hugging Face folder, .gguf or .safetensors file, or adapter folder
  bool tensors = false;        ///< list every tensor
  bool json = false;
};
/// Prints what a checkpoint holds, from the headers alone.
Status inspect_model(const InspectCommand& command, std::ostream& out);

}  // namespace nereus::runtime
