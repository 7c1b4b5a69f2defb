#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nereus::config {

/// Where the keys of a document stand ("cluster.toml:12", "--job.prompts"), for the errors of checks between
/// keys.
class Places {
 public:
  explicit Places(std::string source) : source_(std::move(source)) {}

  /// A later place of the same key wins.
  void add(std::string key, std::string place);
  /// Of a key; of a section or a [[table]] ("machine.1") where its first key stands; else the document.
  std::string of(std::string_view key) const;

 private:
  std::string source_;
  std::vector<std::pair<std::string, std::string>> places_;
};

}  // namespace nereus::config
