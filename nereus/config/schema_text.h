#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/config_value.h"

namespace nereus::config {

/// The parts of Schema that do not depend on its type.

/// A key of a numbered table, "machine.1.count", in its parts.
struct NumberedKey {
  std::string list;  ///< "machine"
  size_t index = 0;  ///< 1
  std::string name;  ///< "machine.count", as the table of keys has it
};
/// Nothing where the key has no number in its second part.
std::optional<NumberedKey> split_numbered(const std::string& key);

/// Its part after the section: "train.learning_rate" is "learning_rate" in its section.
std::string last_part(const std::string& key);

/// "FILE:LINE: unknown key train.leraning_rate; did you mean train.learning_rate?" `plain` is the key without
/// the number of its table, `page` the documentation of `known`.
tl::unexpected<Error> unknown_key(const ConfigEntry& entry, const std::string& plain,
                                  const std::vector<std::string>& known, const std::string& page);

/// A path value as an absolute one, relative ones from `folder`; empty stays empty.
ConfigValue resolved_path(const ConfigValue& value, const std::string& folder);

/// One key as it is written back.
struct KeyText {
  std::string name, doc, expected;
  std::optional<ConfigValue> value;
};
/// Appends keys under headers of their sections, "[train]" or "[[machine]]". `documented` adds each key's
/// documentation, and keys without a value as comments.
void print_keys(std::string& out, const std::vector<KeyText>& keys, bool numbered, bool documented);

/// "train.learning_rate: 1e-05, was 0.0002".
std::string difference_text(const std::string& name, const std::optional<ConfigValue>& now,
                            const std::optional<ConfigValue>& before);

}  // namespace nereus::config
