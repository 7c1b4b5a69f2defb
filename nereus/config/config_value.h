#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::config {

/// A value of a configuration file, as TOML and the command line can say it.
using ConfigValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

/// What a key takes.
enum class KeyKind : uint8_t { boolean, integer, number, text, path, list, choice };

/// "true", "12", "\"text\"", "[\"a\", \"b\"]": as TOML writes it, and as errors show it.
std::string to_toml(const ConfigValue& value);

/// A value typed on the command line, by the kind of its key. Lists are written `a,b,c` or `["a", "b"]`.
/// Text that is not of the kind comes back as text, so that the key's own check names what it expected.
ConfigValue value_from_text(const std::string& text, KeyKind kind);

/// One `key = value` with where it stands ("job.toml:12", "--train.learning_rate"), for errors.
struct ConfigEntry {
  std::string key;  ///< "train.learning_rate"; "reward.0.weight" for the first [[reward]]
  ConfigValue value;
  std::string place;
};

/// The entries of a TOML file's text in the order of the file. Errors (syntax, dates, mixed lists) name
/// `source` and the line.
Result<std::vector<ConfigEntry>> parse_toml(std::string_view text, const std::string& source);

}  // namespace nereus::config
