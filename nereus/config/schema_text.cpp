#include "nereus/config/schema_text.h"

#include <charconv>
#include <filesystem>

#include "nereus/config/nearest_name.h"

namespace nereus::config {

std::optional<NumberedKey> split_numbered(const std::string& key) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos) return std::nullopt;
  NumberedKey parts{key.substr(0, dot), 0, {}};
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data() + dot + 1, end, parts.index);
  if (error != std::errc() || stop == end || *stop != '.') return std::nullopt;
  parts.name = parts.list + std::string(stop, end);
  return parts;
}

std::string last_part(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

tl::unexpected<Error> unknown_key(const ConfigEntry& entry, const std::string& plain,
                                  const std::vector<std::string>& known, const std::string& page) {
  if (const auto nearest = nearest_name(plain, known))
    return fail("{}: unknown key {}; did you mean {}?", entry.place, entry.key, *nearest);
  return fail("{}: unknown key {}; {} lists all keys", entry.place, entry.key, page);
}

ConfigValue resolved_path(const ConfigValue& value, const std::string& folder) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) return value;
  return std::filesystem::absolute(std::filesystem::path(folder) / *text).lexically_normal().string();
}

void print_keys(std::string& out, const std::vector<KeyText>& keys, bool numbered, bool documented) {
  std::string section;
  for (const auto& key : keys) {
    const std::string in = key.name.substr(0, key.name.find('.'));
    if (in != section)
      out += fmt::format(fmt::runtime(numbered ? "{}[[{}]]\n" : "{}[{}]\n"), out.empty() ? "" : "\n", in);
    section = in;
    const std::string name = last_part(key.name);
    if (documented) out += fmt::format("# {} ({})\n", key.doc, key.expected);
    if (key.value)
      out += fmt::format("{} = {}\n", name, to_toml(*key.value));
    else if (documented)
      out += fmt::format("# {} =\n", name);
  }
}

std::string difference_text(const std::string& name, const std::optional<ConfigValue>& now,
                            const std::optional<ConfigValue>& before) {
  const auto text = [](const std::optional<ConfigValue>& value) { return value ? to_toml(*value) : "unset"; };
  return fmt::format("{}: {}, was {}", name, text(now), text(before));
}

}  // namespace nereus::config
