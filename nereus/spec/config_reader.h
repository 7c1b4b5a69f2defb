#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::spec {

/// Takes typed values out of a JSON object by key and keeps the first error, which names source and key. A
/// null counts as missing. Does not own the object. Not thread-safe.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string_view source) : json_(json), source_(source) {}

  /// An integer from 1 to `max`; without a fallback the key is required.
  int64_t size(const std::string& key, int64_t max, std::optional<int64_t> fallback = std::nullopt);
  /// A finite number above 0.
  double positive(const std::string& key, std::optional<double> fallback = std::nullopt);
  bool flag(const std::string& key, bool fallback);
  std::string text(const std::string& key, std::string_view fallback);
  /// One id or a list of them; none where null; the fallback where missing.
  std::vector<int64_t> ids(const std::string& key, std::vector<int64_t> fallback);
  bool has(const std::string& key) const;

  /// Notes an error unless there is one already.
  void refuse(std::string_view key, std::string_view what);
  Status status() const;

 private:
  const Json* find(const std::string& key) const;  ///< nullptr where missing or null

  const Json& json_;
  std::string_view source_;
  std::optional<Error> error_;
};

}  // namespace nereus::spec
