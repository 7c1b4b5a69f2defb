#include "nereus/base/json.h"

#include <algorithm>

namespace nereus {
namespace {

constexpr int kMaxDepth = 256;

template <class J>
Result<J> parse(std::string_view text, std::string_view source) {
  // The parser recurses nowhere, but destroying and printing a value does: depth is bounded here.
  bool too_deep = false;
  auto callback = [&](int depth, nlohmann::json::parse_event_t, auto&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  try {
    J value = J::parse(text.begin(), text.end(), callback);
    if (too_deep) return fail("{}: JSON nested deeper than {} levels", source, kMaxDepth);
    return value;
  } catch (const nlohmann::json::exception& e) {
    std::string_view what = e.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    return fail("{}: not valid JSON: {}", source, what);
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source) {
  return parse<Json>(text, source);
}

Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view source) {
  return parse<OrderedJson>(text, source);
}

}  // namespace nereus
