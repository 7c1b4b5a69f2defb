#include "nereus/runtime/fingerprint.h"

#include <algorithm>
#include <span>
#include <vector>

#include "nereus/formats/mapped_file.h"
#include "nereus/formats/sha256.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> model_files(const fs::path& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return {model};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".safetensors" || extension == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::string> model_fingerprint(const fs::path& model) {
  constexpr size_t kEnds = size_t{1} << 20;
  std::string text;
  for (const fs::path& path : model_files(model)) {
    auto file = formats::MappedFile::open(path);
    if (!file) return pass(file);
    const std::span<const std::byte> bytes = (*file)->bytes();
    const size_t part = std::min(kEnds, bytes.size());
    text += fmt::format("{} {} {} {}\n", path.filename().string(), bytes.size(),
                        formats::sha256(bytes.first(part)), formats::sha256(bytes.last(part)));
  }
  return formats::sha256(std::as_bytes(std::span(text)));
}

}  // namespace nereus::runtime
