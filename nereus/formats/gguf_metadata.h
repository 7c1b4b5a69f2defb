#pragma once

#include <cstdint>

#include "nereus/base/json.h"
#include "nereus/base/result.h"
#include "nereus/formats/byte_reader.h"

namespace nereus::formats {

/// Reads `count` entries of a GGUF file's metadata into a JSON object; arrays become JSON arrays. Errors name
/// the key: types or counts that lie, arrays of arrays, a key that stands twice.
Result<Json> read_gguf_metadata(ByteReader& reader, uint64_t count);

}  // namespace nereus::formats
