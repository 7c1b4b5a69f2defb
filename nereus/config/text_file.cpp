#include "nereus/config/text_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace nereus::config {

Result<std::string> read_text_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return fail("{}: is a folder, expected a file", file.string());
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail("{}: cannot open: {}", file.string(), std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) return fail("{}: cannot read: {}", file.string(), std::strerror(errno));
  return std::move(text).str();
}

}  // namespace nereus::config
