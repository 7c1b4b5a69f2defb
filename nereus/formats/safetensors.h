#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/formats/mapped_file.h"
#include "nereus/formats/tensor_view.h"

namespace nereus::formats {

/// A safetensors file, mapped: 8 bytes of header length, a JSON header, and the tensors' bytes without holes.
/// Immutable, so thread-safe.
class SafetensorsFile {
 public:
  /// Checks names, element types, shapes, and that the tensors' ranges are as long as their shapes say and
  /// fill the file without overlap.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);
  static Result<SafetensorsFile> parse(std::shared_ptr<const MappedFile> file, std::string source);

  const std::string& source() const { return source_; }
  /// Strings of "__metadata__".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the order of their bytes. Bytes need not be aligned to the element.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;  ///< nullptr where missing

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string source_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace nereus::formats
