#include "nereus/config/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nereus::config {

namespace {

/// Edits (insert, delete, replace) that lead from one word to the other (Levenshtein 1966).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t best = std::max<size_t>(2, last_part(name).size() / 2) + 1;
  for (const auto& candidate : known) {
    const size_t edits = last_part(candidate) == last_part(name) ? 1 : distance(candidate, name);
    if (edits < best) best = edits, nearest = &candidate;
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

}  // namespace nereus::config
