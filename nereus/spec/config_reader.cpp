#include "nereus/spec/config_reader.h"

#include <cmath>
#include <limits>

namespace nereus::spec {
namespace {

std::string print(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

std::optional<int64_t> id_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto id = value.get<int64_t>();
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return id;
}

}  // namespace

const Json* ConfigReader::find(const std::string& key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigReader::has(const std::string& key) const {
  return find(key) != nullptr;
}

void ConfigReader::refuse(std::string_view key, std::string_view what) {
  if (!error_) error_ = Error{fmt::format("{}: key '{}': {}", source_, key, what)};
}

Status ConfigReader::status() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

int64_t ConfigReader::size(const std::string& key, int64_t max, std::optional<int64_t> fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) refuse(key, fmt::format("missing; expected an integer from 1 to {}", max));
    return fallback.value_or(1);
  }
  // Unsigned comparison: a value beyond int64 must not wrap to a valid one.
  if (value->is_number_integer() && *value >= 1 && value->get<uint64_t>() <= static_cast<uint64_t>(max)) {
    return value->get<int64_t>();
  }
  refuse(key, fmt::format("expected an integer from 1 to {}, found {}", max, print(*value)));
  return 1;
}

double ConfigReader::positive(const std::string& key, std::optional<double> fallback) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (!fallback) refuse(key, "missing; expected a number above 0");
    return fallback.value_or(1);
  }
  const double number = value->is_number() ? value->get<double>() : 0;
  if (number > 0 && std::isfinite(number)) return number;
  refuse(key, fmt::format("expected a number above 0, found {}", print(*value)));
  return 1;
}

bool ConfigReader::flag(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  refuse(key, fmt::format("expected true or false, found {}", print(*value)));
  return fallback;
}

std::string ConfigReader::text(const std::string& key, std::string_view fallback) {
  const Json* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  refuse(key, fmt::format("expected a string, found {}", print(*value)));
  return std::string(fallback);
}

std::vector<int64_t> ConfigReader::ids(const std::string& key, std::vector<int64_t> fallback) {
  const auto found = json_.find(key);
  if (found == json_.end()) return fallback;
  if (found->is_null()) return {};
  const Json list = found->is_array() ? *found : Json::array({*found});
  std::vector<int64_t> ids;
  for (const Json& value : list) {
    const auto id = id_of(value);
    if (!id) {
      refuse(key, fmt::format("expected token ids, found {}", print(value)));
      return {};
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace nereus::spec
