#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::serving {

/// One file of a version.
struct ManifestFile {
  std::string name;  ///< without folders
  uint64_t bytes = 0;
  std::string sha256;  ///< 64 hexadecimal digits
};

/// What a version in the bucket is; the one thing that decides what its folder holds, whatever else is seen
/// there. docs/serving.md has the format.
struct Manifest {
  int64_t version = 0;  ///< of the policy
  int64_t step = 0;     ///< training step after which it was taken
  std::string kind = "lora";
  std::string base;  ///< fingerprint of the base model that it belongs to
  std::vector<ManifestFile> files;

  OrderedJson json() const;
  /// Error: a key is missing, of the wrong type or unknown, or a file's name has a folder in it.
  static Result<Manifest> from_json(const Json& value, std::string_view source);
  const ManifestFile* find(std::string_view name) const;
};

inline constexpr std::string_view kManifestName = "manifest.json";

/// "policy-v7": the name of a version's folder and of its adapter on every server.
std::string version_name(int64_t version);
/// The reverse; -1 where `name` is no such name.
int64_t version_of(std::string_view name);
/// Whether a name may be a file's or an adapter's: letters, digits, '.', '_', '-', not first a '.', at most
/// 128 of them.
bool safe_name(std::string_view name);

}  // namespace nereus::serving
