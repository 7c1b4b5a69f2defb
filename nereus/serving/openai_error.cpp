#include "nereus/serving/openai_error.h"

namespace nereus::serving {

namespace {

std::string_view type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

}  // namespace

OrderedJson openai_error(int status, std::string_view message) {
  return {{"error", {{"message", message}, {"type", type_of(status)}, {"param", nullptr}, {"code", status}}}};
}

http::Response error_response(int status, std::string_view message) {
  auto response = http::json_response(status, openai_error(status, message));
  if (status == 429 || status == 503) response.headers.set("Retry-After", "1");
  return response;
}

http::Response status_response(const Status& status, int refused) {
  return status ? http::json_response(200, {{"status", "ok"}})
                : error_response(refused, status.error().message);
}

}  // namespace nereus::serving
