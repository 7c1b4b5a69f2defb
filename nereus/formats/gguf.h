#pragma once

#include <filesystem>
#include <memory>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/formats/tensor_view.h"

namespace nereus::formats {

class MappedFile;

/// A GGUF v3 file, mapped: metadata and tensors without a second copy of the weights. Immutable, so
/// thread-safe.
class GgufFile {
 public:
  /// Checks every count, length, offset and overlap against the file's size before it is used.
  static Result<GgufFile> open(const std::filesystem::path& path);
  static Result<GgufFile> parse(std::shared_ptr<const MappedFile> file, std::string source);

  const std::string& source() const { return source_; }
  /// Metadata by key; arrays of strings and numbers become JSON arrays.
  const Json& metadata() const { return metadata_; }
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;  ///< nullptr where missing

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string source_;
  Json metadata_;
  std::vector<TensorView> tensors_;
};

}  // namespace nereus::formats
