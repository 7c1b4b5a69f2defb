#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nereus/text/chat_template.h"

namespace nereus::text {

namespace fs = std::filesystem;

inline std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<OrderedJson> read_lines(const fs::path& path) {
  std::vector<OrderedJson> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    rows.push_back(value_or_throw(parse_ordered_json(line, path.string())));
  }
  return rows;
}

inline std::vector<OrderedJson> snippets() {
  return read_lines(fs::path(NEREUS_SOURCE_DIR) / "tests/golden/templates/snippets.jsonl");
}

inline Result<std::string> render(std::string_view source,
                                  const OrderedJson& variables = OrderedJson::object(),
                                  const RenderOptions& options = {}) {
  const auto parsed = ChatTemplate::parse(source, "t");
  if (!parsed) return pass(parsed);
  return parsed->render(variables, options);
}

inline std::string error_of(std::string_view source, const OrderedJson& variables = OrderedJson::object(),
                            const RenderOptions& options = {}) {
  const auto text = render(source, variables, options);
  return text ? "no error, but: " + *text : text.error().message;
}

inline OrderedJson chat(std::initializer_list<std::pair<const char*, const char*>> turns) {
  OrderedJson variables{{"messages", OrderedJson::array()}};
  for (const auto& [role, content] : turns) {
    variables["messages"].push_back({{"role", role}, {"content", content}});
  }
  return variables;
}

}  // namespace nereus::text
