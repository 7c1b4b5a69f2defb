#pragma once

#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/serving/backend_api.h"

namespace nereus::serving {

/// What a request asks to be changed, on one server or on all behind a proxy.
struct ChangeRequest {
  std::string name, path;  ///< of an adapter: safe_name, and a folder as the client sees it
  bool in_place = false;   ///< in the place of the adapter of that name
  PauseMode mode = PauseMode::keep;
};

/// Reads the body of a request to `endpoint`: /v1/load_lora_adapter, /v1/unload_lora_adapter, /pause (`mode`
/// is the one of its query) or /resume. Error: names the key, and what was expected.
Result<ChangeRequest> read_change_request(std::string_view endpoint, const std::string& mode,
                                          std::string_view body);

}  // namespace nereus::serving
