#include "nereus/serving/change_request.h"

#include <algorithm>

#include "nereus/base/json.h"
#include "nereus/serving/body_reader.h"
#include "nereus/serving/manifest.h"

namespace nereus::serving {

namespace {

bool is_plain(std::string_view path) {
  return !path.empty() && std::ranges::none_of(path, [](unsigned char c) { return c < ' ' || c == 127; });
}

}  // namespace

Result<ChangeRequest> read_change_request(std::string_view endpoint, const std::string& mode,
                                          std::string_view body) {
  const auto json = parse_ordered_json(body.empty() ? "{}" : body, "request");
  if (!json) return pass(json);
  if (!json->is_object()) return fail("request: expected a JSON object");
  ChangeRequest change;
  if (endpoint == "/pause" && !mode.empty()) {
    const auto known = pause_mode(mode);
    if (!known) return pass(known);
    change.mode = *known;
  }
  if (!endpoint.ends_with("_lora_adapter")) return change;
  BodyReader reader(*json);
  reader.text("lora_name", change.name);
  reader.text("lora_path", change.path);
  reader.flag("load_inplace", change.in_place);
  if (!reader.error().empty()) return fail("{}", reader.error());
  if (!safe_name(change.name))
    return fail("\"lora_name\": expected up to 128 letters, digits, '.', '_' and '-', not first a '.'");
  if (endpoint == "/v1/load_lora_adapter" && !is_plain(change.path))
    return fail("\"lora_path\": expected the folder of the adapter");
  return change;
}

}  // namespace nereus::serving
