#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "nereus/http/message.h"

namespace nereus::serving {

/// Builds a page in Prometheus' text format (version 0.0.4). Not thread-safe.
class PrometheusPage {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Begins a metric; values follow.
  void counter(std::string_view name, std::string_view help) { begin(name, help, "counter"); }
  void gauge(std::string_view name, std::string_view help) { begin(name, help, "gauge"); }
  void value(double value, Labels labels = {});

  http::Response response() const;
  const std::string& text() const { return text_; }

 private:
  void begin(std::string_view name, std::string_view help, std::string_view type);

  std::string name_, text_;
};

}  // namespace nereus::serving
