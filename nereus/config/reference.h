#pragma once

#include <string>
#include <vector>

#include "nereus/config/key_table.h"
#include "nereus/config/schema_text.h"

namespace nereus::config {

/// Markdown tables of keys: a heading for each section, and key, default, what it takes, meaning. `heading`
/// is the form of the heading, with {} for the section's name: "`[{}]`".
std::string reference_tables(const std::vector<KeyText>& keys, const std::string& heading);

/// The same of a table of keys; defaults are those of `defaults`.
template <class T>
std::string reference_tables(const KeyTable<T>& table, const T& defaults, const std::string& heading) {
  std::vector<KeyText> keys;
  for (const auto& key : table.keys()) keys.push_back({key.name, key.doc, key.expected, key.get(defaults)});
  return reference_tables(keys, heading);
}

}  // namespace nereus::config
