#pragma once

#include <string>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// Python's str(): what a template prints. Nothing for an undefined value.
std::string to_text(const Value& value, Budget& budget);
/// Python's repr(): as inside a printed list.
std::string repr(const Value& value, Budget& budget);
/// The shortest digits that read back as the same number, written as Python does: 1.0, 1e-05, 1e+16.
std::string float_repr(double value);
/// With & < > ' " as entities.
std::string escape_html(std::string_view text);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent{};  ///< one level; everything on one line where absent
  std::string item_separator = ", ", key_separator = ": ";
};

/// As json.dumps writes it. Throws for what JSON can't hold.
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace nereus::text::jinja
