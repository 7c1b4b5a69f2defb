// The only file that sees toml++: it costs several seconds to compile.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>

#include "nereus/config/config_value.h"

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

}  // namespace

Result<std::vector<ConfigEntry>> parse_toml(std::string_view text, const std::string& source) {
  const toml::parse_result parsed = toml::parse(text, source);
  if (!parsed)
    return fail("{}:{}: {}", source, parsed.error().source().begin.line, parsed.error().description());
  Lister lister(source);
  if (auto status = lister.table(parsed.table(), ""); !status) return pass(status);
  return lister.take();
}

}  // namespace nereus::config
