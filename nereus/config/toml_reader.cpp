#include <algorithm>
#include <cctype>

#include "nereus/config/config_value.h"
#include "nereus/config/stray_character.h"

namespace nereus::config {
namespace {
struct TomlSurprise {};
[[noreturn]] void surprise() {
  throw TomlSurprise();
}
}  // namespace
}  // namespace nereus::config

// The only file that sees toml++: it costs several seconds to compile. Where its parser asserts it has met
// input that it did not expect, such as the header `[=]`: that is an error of the input, neither an abort
// nor, without assertions, undefined behaviour.
#undef NDEBUG
#define TOML_EXCEPTIONS 1
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : nereus::config::surprise())
#include <toml++/toml.h>

namespace nereus::config {

namespace {

/// Walks a parsed document and lists its values with dotted keys.
class Lister {
 public:
  explicit Lister(const std::string& source) : source_(source) {}

  Status table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string name =
          prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
      if (auto status = value(node, name); !status) return status;
    }
    return {};
  }

  /// In the order of the file; tables themselves are in that of their keys.
  std::vector<ConfigEntry> take() {
    std::ranges::stable_sort(found_, {}, &Found::line);
    std::vector<ConfigEntry> entries;
    for (auto& found : found_) entries.push_back(std::move(found.entry));
    return entries;
  }

 private:
  Status value(const toml::node& node, const std::string& name) {
    if (const auto* inner = node.as_table()) return table(*inner, name);
    if (const auto* list = node.as_array()) return array(*list, name);
    if (const auto* v = node.as_boolean()) return add(name, v->get(), node);
    if (const auto* v = node.as_integer()) return add(name, v->get(), node);
    if (const auto* v = node.as_floating_point()) return add(name, v->get(), node);
    if (const auto* v = node.as_string()) return add(name, v->get(), node);
    return fail("{}: {}: dates and times are not used by any key", place(node), name);
  }

  Status array(const toml::array& list, const std::string& name) {
    if (!list.empty() && list.is_homogeneous(toml::node_type::table)) {
      for (size_t i = 0; i < list.size(); ++i)
        if (auto status = numbered(*list[i].as_table(), name, i); !status) return status;
      return {};
    }
    std::vector<std::string> texts;
    for (const auto& item : list) {
      if (!item.is_string()) return fail("{}: {}: expected a list of strings", place(list), name);
      texts.push_back(item.as_string()->get());
    }
    return add(name, std::move(texts), list);
  }

  /// The table would be lost among entries if it had none.
  Status numbered(const toml::table& inner, const std::string& name, size_t index) {
    if (inner.empty()) return fail("{}: [[{}]] number {} is empty", place(inner), name, index);
    return table(inner, name + "." + std::to_string(index));
  }

  Status add(const std::string& name, ConfigValue value, const toml::node& node) {
    found_.push_back({node.source().begin.line, {name, std::move(value), place(node)}});
    return {};
  }

  std::string place(const toml::node& node) const {
    return source_ + ":" + std::to_string(node.source().begin.line);
  }

  struct Found {
    toml::source_index line;
    ConfigEntry entry;
  };

  const std::string& source_;
  std::vector<Found> found_;
};

/// Of the first line that begins as a table's header and goes on as none; 0: none.
size_t line_of_bad_header(std::string_view text) {
  for (size_t line = 1; !text.empty(); ++line) {
    const std::string_view current = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), current.size() + 1));
    const size_t bracket = current.find_first_not_of(" \t");
    if (bracket == std::string_view::npos || current[bracket] != '[') continue;
    const size_t name = current.find_first_not_of(" \t[", bracket);
    if (name == std::string_view::npos) continue;
    const char first = current[name];
    if (std::isalnum(static_cast<unsigned char>(first)) == 0 &&
        std::string_view("_-\"'").find(first) == std::string_view::npos)
      return line;
  }
  return 0;
}

}  // namespace

Result<std::vector<ConfigEntry>> parse_toml(std::string_view text, const std::string& source) {
  // In toml++ 3.3 such characters are undefined behaviour where they may be taken for space.
  if (const size_t line = line_of_stray_character(text); line > 0)
    return fail(
        "{}:{}: a control character, or a letter with an accent and the like, has to stand in quotes, "
        "and not first behind a backslash",
        source, line);
  try {
    const toml::table table = toml::parse(text, source);
    Lister lister(source);
    if (auto status = lister.table(table, ""); !status) return pass(status);
    return lister.take();
  } catch (const toml::parse_error& error) {
    return fail("{}:{}: {}", source, error.source().begin.line, error.description());
  } catch (const TomlSurprise&) {
    const size_t line = line_of_bad_header(text);
    const std::string place = line == 0 ? source : source + ":" + std::to_string(line);
    return fail("{}: not TOML: expected the name of a table after [, or key = value", place);
  }
}

}  // namespace nereus::config
