#include "nereus/text/json_field.h"

namespace nereus::text {

namespace {

constexpr int64_t kTokenLimit = int64_t{1} << 22;

Result<const Json*> typed(const Json& object, std::string_view key, Json::value_t type, std::string_view name,
                          std::string_view where) {
  const auto found = field(object, key, where);
  if (found && (*found)->type() != type) return fail("{}.{}: expected {}", where, key, name);
  return found;
}

}  // namespace

const Json* find_field(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> field(const Json& object, std::string_view key, std::string_view where) {
  if (!object.is_object()) return fail("{}: expected an object", where);
  const Json* found = find_field(object, key);
  if (!found) return fail("{}.{} is missing", where, key);
  return found;
}

Result<const Json*> array_field(const Json& object, std::string_view key, std::string_view where) {
  return typed(object, key, Json::value_t::array, "an array", where);
}

Result<const Json*> object_field(const Json& object, std::string_view key, std::string_view where) {
  return typed(object, key, Json::value_t::object, "an object", where);
}

Result<std::string> string_field(const Json& object, std::string_view key, std::string_view where) {
  const auto found = typed(object, key, Json::value_t::string, "a string", where);
  if (!found) return pass(found);
  return (*found)->get<std::string>();
}

Result<bool> bool_field(const Json& object, std::string_view key, bool fallback, std::string_view where) {
  const Json* found = find_field(object, key);
  if (!found) return fallback;
  if (!found->is_boolean()) return fail("{}.{}: expected true or false", where, key);
  return found->get<bool>();
}

Result<int32_t> token_id(const Json& value, std::string_view where) {
  if (!value.is_number_integer()) return fail("{}: expected a token id", where);
  const auto id = value.get<int64_t>();
  if (id < 0 || id >= kTokenLimit) return fail("{}: token id {} is not in [0, {})", where, id, kTokenLimit);
  return static_cast<int32_t>(id);
}

}  // namespace nereus::text
