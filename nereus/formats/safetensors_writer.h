#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/formats/atomic_file.h"
#include "nereus/formats/tensor_view.h"

namespace nereus::formats {

/// Name, type and shape of a tensor to write.
struct TensorHeader {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

/// Writes a safetensors file tensor by tensor, so that only one of them need exist in its final type; the
/// file appears when it is whole (see AtomicFile). Not thread-safe.
class SafetensorsWriter {
 public:
  /// Errors: a name twice, a shape that overflows, a quantised type, the disk.
  static Result<SafetensorsWriter> create(const std::filesystem::path& path,
                                          std::vector<TensorHeader> tensors,
                                          const std::map<std::string, std::string>& metadata);

  /// The tensors in the order in which `append` takes them: wide types first, then by name, as the
  /// reference implementation orders them.
  const std::vector<TensorHeader>& order() const { return tensors_; }
  /// Bytes of the next tensor; their number must be what its type and shape say.
  Status append(std::span<const std::byte> bytes);
  /// Errors: a tensor is still missing; the disk.
  Status finish();

 private:
  SafetensorsWriter(std::string source, AtomicFile file, std::vector<TensorHeader> tensors)
      : source_(std::move(source)), file_(std::move(file)), tensors_(std::move(tensors)) {}

  std::string source_;
  AtomicFile file_;
  std::vector<TensorHeader> tensors_;
  size_t next_ = 0;
};

/// A whole file at once.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                         const std::map<std::string, std::string>& metadata);

}  // namespace nereus::formats
