#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/base/json.h"

namespace nereus::http {

/// Header fields in their order; names compare without case. Not thread-safe.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void add(std::string_view name, std::string_view value);
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  /// Of the first field with this name; "" where there is none.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Whether the comma-separated list in `name` holds `token`, as `Connection: keep-alive, upgrade` does.
  bool lists(std::string_view name, std::string_view token) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  ///< path and query, as in the request line
  Headers headers;
  std::string body;

  /// The path with %XX resolved; "" where it is malformed.
  std::string path() const;
  /// The value of NAME=VALUE in the query with %XX resolved; "" where it is absent.
  std::string query(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;

  /// "status 404: ..." with the body's beginning, for messages.
  std::string brief() const;
};

bool equal_without_case(std::string_view a, std::string_view b);
/// %XX resolved; nothing where a % has no two digits behind it.
bool decode_percent(std::string_view text, std::string& decoded);

Request json_request(std::string_view method, std::string_view target, const OrderedJson& body);
Response json_response(int status, const OrderedJson& body);
Response text_response(int status, std::string_view text);

}  // namespace nereus::http
