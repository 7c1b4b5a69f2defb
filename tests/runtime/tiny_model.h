#pragma once

#include <filesystem>
#include <string>

namespace nereus::runtime {

/// A folder of its own for a test; removed with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file into it and returns its path.
  std::filesystem::path write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// Writes a random Llama (2 layers, hidden 32, context 128) with a byte-level tokenizer of 1,012 tokens and a
/// chat template, as a Hugging Face folder. Its answers are random tokens, so that rewards differ in a group.
void write_tiny_model(const std::filesystem::path& folder, unsigned seed = 1);

std::string file_text(const std::filesystem::path& file);

}  // namespace nereus::runtime
