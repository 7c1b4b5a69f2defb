#include "nereus/http/message.h"

#include <algorithm>

namespace nereus::http {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Text that is not UTF-8 is written with U+FFFD: dumping never throws.
std::string dump(const OrderedJson& body) {
  return body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::ranges::equal(a, b, {}, lower, lower);
}

bool decode_percent(std::string_view text, std::string& decoded) {
  decoded.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

void Headers::add(std::string_view name, std::string_view value) {
  constexpr size_t kUsualFields = 8;
  if (fields_.empty()) fields_.reserve(kUsualFields);
  fields_.emplace_back(name, value);
}

void Headers::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return equal_without_case(field.first, name); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (equal_without_case(key, name)) return value;
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::ranges::any_of(fields_, [&](const auto& f) { return equal_without_case(f.first, name); });
}

bool Headers::lists(std::string_view name, std::string_view token) const {
  for (const auto& [key, value] : fields_) {
    if (!equal_without_case(key, name)) continue;
    for (std::string_view rest = value; !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      if (equal_without_case(trimmed(rest.substr(0, comma)), token)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

std::string Request::path() const {
  std::string decoded;
  if (!decode_percent(std::string_view(target).substr(0, target.find('?')), decoded)) return "";
  return decoded;
}

std::string Request::query(std::string_view name) const {
  const size_t mark = target.find('?');
  if (mark == std::string::npos) return "";
  for (std::string_view rest = std::string_view(target).substr(mark + 1); !rest.empty();) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string value;
    if (pair.substr(0, equals) == name && equals < pair.size() &&
        decode_percent(pair.substr(equals + 1), value))
      return value;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

std::string Response::brief() const {
  constexpr size_t kShown = 300;
  return fmt::format("status {}: {}", status, std::string_view(body).substr(0, kShown));
}

Request json_request(std::string_view method, std::string_view target, const OrderedJson& body) {
  return {std::string(method), std::string(target), {{"Content-Type", "application/json"}}, dump(body)};
}

Response json_response(int status, const OrderedJson& body) {
  return {status, {{"Content-Type", "application/json"}}, dump(body)};
}

Response text_response(int status, std::string_view text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(text)};
}

}  // namespace nereus::http
