#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/formats/safetensors.h"

namespace nereus::checkpoint {

/// The safetensors files of a Hugging Face folder: one, or shards with an index. Immutable, so thread-safe.
class WeightFiles {
 public:
  /// Opens model.safetensors, else every shard that model.safetensors.index.json names. Errors: neither is
  /// there, a shard is missing, a tensor is not in the shard that the index names.
  static Result<WeightFiles> open(const std::filesystem::path& folder);

  const std::vector<formats::SafetensorsFile>& shards() const { return shards_; }
  const formats::TensorView* find(const std::string& name) const;  ///< nullptr where missing
  /// The file with the tensor; where it is missing, the file or index that should have it.
  std::string file_of(const std::string& name) const;

 private:
  Status open_index(const std::filesystem::path& folder, const std::filesystem::path& index);
  Status add_tensor(const std::string& name, const std::filesystem::path& file);

  std::string catalogue_;
  std::vector<formats::SafetensorsFile> shards_;
  std::unordered_map<std::string, size_t> shard_of_file_, shard_of_;
};

}  // namespace nereus::checkpoint
