#include <cstdlib>

#include "nereus/cli/commands.h"

namespace nereus::cli {

Result<std::string> token_of(const std::string& variable) {
  if (variable.empty()) return std::string();
  const char* value = std::getenv(variable.c_str());
  if (!value || !*value) return fail("the environment variable {} has no token", variable);
  return std::string(value);
}

}  // namespace nereus::cli
