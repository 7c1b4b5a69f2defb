#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nereus/base/json.h"
#include "nereus/base/result.h"

namespace nereus::text {

/// Fields of a JSON object from a file. `where` names the object ("tokenizer.json: model"); an error says
/// which key of it is missing or of another type. Pointers live as long as `object`.

/// nullptr where `object` is no object, or the key is missing or null.
const Json* find_field(const Json& object, std::string_view key);
Result<const Json*> field(const Json& object, std::string_view key, std::string_view where);
Result<const Json*> array_field(const Json& object, std::string_view key, std::string_view where);
Result<const Json*> object_field(const Json& object, std::string_view key, std::string_view where);
Result<std::string> string_field(const Json& object, std::string_view key, std::string_view where);
/// `fallback` where the key is missing or null.
Result<bool> bool_field(const Json& object, std::string_view key, bool fallback, std::string_view where);
/// A token's id: an integer from 0 to 4,194,303, so that a lying file cannot ask for any amount of memory.
Result<int32_t> token_id(const Json& value, std::string_view where);

}  // namespace nereus::text
