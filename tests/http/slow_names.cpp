#include "tests/http/slow_names.h"

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

namespace {

// The C library's function has no other place for what it should do.
std::mutex mutex;
std::condition_variable changed;
bool slow = false;

}  // namespace

/// Takes the place of the C library's in this program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  if (name != nullptr && std::string_view(name).ends_with(".slow")) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [] { return !slow; });
    return EAI_AGAIN;
  }
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}

namespace nereus::test {

SlowNames::SlowNames() {
  const std::lock_guard lock(mutex);
  slow = true;
}

SlowNames::~SlowNames() {
  {
    const std::lock_guard lock(mutex);
    slow = false;
  }
  changed.notify_all();
}

}  // namespace nereus::test
