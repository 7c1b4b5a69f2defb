#pragma once

#include <string_view>

#include "nereus/http/message.h"

namespace nereus::http {

/// Whether the request carries `Authorization: Bearer TOKEN`. Takes the same time however much of it is
/// right.
bool has_bearer(const Headers& headers, std::string_view token);

}  // namespace nereus::http
