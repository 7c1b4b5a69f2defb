#include "nereus/cli/computing.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace nereus::cli {

namespace {

/// GCC's OpenMP spins up to 12 ms at the end of each loop. Where another program runs, that takes the
/// processor from the very threads that are waited for; 0.4 ms are enough for loops that follow one another.
constexpr const char* kSpinCount = "GOMP_SPINCOUNT";
constexpr const char* kPauses = "10000";

}  // namespace

bool spin_briefly() {
  if (std::getenv(kSpinCount) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return false;
  return ::setenv(kSpinCount, kPauses, 1) == 0;
}

void forget_spinning() {
  const char* count = std::getenv(kSpinCount);
  if (count != nullptr && std::string_view(count) == kPauses) ::unsetenv(kSpinCount);
}

Error become_compute_program(const std::string& command, char** argv) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = here.parent_path() / "nereus-compute";
  spin_briefly();
  if (!error && ::execv(program.c_str(), argv) != 0) error.assign(errno, std::generic_category());
  return {fmt::format("nereus {} needs the program {}, which a build with LibTorch makes: {}", command,
                      program.string(), error.message())};
}

}  // namespace nereus::cli
