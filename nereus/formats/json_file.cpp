#include "nereus/formats/json_file.h"

#include <string>

#include "nereus/formats/atomic_file.h"
#include "nereus/formats/mapped_file.h"

namespace nereus::formats {

Result<Json> read_json_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return pass(file);
  return parse_json((*file)->text(), path.string());
}

Status write_json_file(const std::filesystem::path& path, const OrderedJson& value) {
  // Invalid UTF-8 in a string becomes U+FFFD: printing never throws.
  return write_file_atomically(path, value.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

}  // namespace nereus::formats
