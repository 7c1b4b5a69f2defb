#include "nereus/serving/prometheus.h"

#include <fmt/format.h>

namespace nereus::serving {

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result;
}

}  // namespace

void PrometheusPage::begin(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void PrometheusPage::value(double value, Labels labels) {
  text_ += name_;
  char separator = '{';
  for (const auto& [key, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", separator, key, escaped(text));
    separator = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

http::Response PrometheusPage::response() const {
  return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, text_};
}

}  // namespace nereus::serving
