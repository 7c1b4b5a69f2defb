#pragma once

#include <filesystem>
#include <string>

#include "tests/formats/scratch_folder.h"

namespace nereus::runtime {

using test::ScratchFolder;

/// Writes a random Llama (2 layers, hidden 32, context 128) with a byte-level tokenizer of 1,012 tokens and a
/// chat template, as a Hugging Face folder. Its answers are random tokens, so that rewards differ in a group.
void write_tiny_model(const std::filesystem::path& folder, unsigned seed = 1);

std::string file_text(const std::filesystem::path& file);

}  // namespace nereus::runtime
