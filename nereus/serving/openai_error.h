#pragma once

#include <string_view>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/http/message.h"

namespace nereus::serving {

/// {"error": {"message", "type", "param": null, "code"}}, as OpenAI's clients read it.
OrderedJson openai_error(int status, std::string_view message);
http::Response error_response(int status, std::string_view message);
/// {"status": "ok"}, or the error with status `refused`.
http::Response status_response(const Status& status, int refused);

}  // namespace nereus::serving
