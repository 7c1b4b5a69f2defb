#include "nereus/config/reference.h"

namespace nereus::config {

namespace {

/// Text for a cell of a table.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string reference_tables(const std::vector<KeyText>& keys, const std::string& heading) {
  std::string out, section;
  for (const auto& key : keys) {
    const size_t dot = key.name.find('.');
    const std::string in = key.name.substr(0, dot);
    if (in != section) {
      out += fmt::format("\n## {}\n\n", fmt::format(fmt::runtime(heading), in));
      out += "| key | default | takes | meaning |\n| --- | --- | --- | --- |\n";
    }
    section = in;
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.name.substr(dot + 1),
                       key.value ? fmt::format("`{}`", to_toml(*key.value)) : "unset", escaped(key.expected),
                       escaped(key.doc));
  }
  return out;
}

}  // namespace nereus::config
