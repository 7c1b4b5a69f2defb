#include "nereus/serving/body_reader.h"

#include <utility>

namespace nereus::serving {

const OrderedJson* BodyReader::find(const char* key) const {
  const auto found = body_.find(key);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

void BodyReader::key64(const char* key, std::optional<uint64_t>& value) {
  const OrderedJson* found = find(key);
  if (!found) return;
  if (!found->is_number_integer()) return fail_with(fmt::format("\"{}\": expected an integer", key));
  value = found->is_number_unsigned() ? found->get<uint64_t>() : static_cast<uint64_t>(found->get<int64_t>());
}

void BodyReader::flag(const char* key, bool& value) {
  const OrderedJson* found = find(key);
  if (!found) return;
  if (!found->is_boolean()) return fail_with(fmt::format("\"{}\": expected true or false", key));
  value = found->get<bool>();
}

void BodyReader::text(const char* key, std::string& value) {
  const OrderedJson* found = find(key);
  if (!found) return;
  if (!found->is_string()) return fail_with(fmt::format("\"{}\": expected a text", key));
  value = found->get<std::string>();
}

const OrderedJson* BodyReader::object(const char* key) {
  const OrderedJson* found = find(key);
  if (!found || found->is_object()) return found;
  fail_with(fmt::format("\"{}\": expected an object", key));
  return nullptr;
}

void BodyReader::refuse(const char* key, const OrderedJson& only) {
  if (const OrderedJson* found = find(key); found && *found != only)
    fail_with(fmt::format("\"{}\": only {} is supported", key, only.dump()));
}

void BodyReader::fail_with(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

}  // namespace nereus::serving
