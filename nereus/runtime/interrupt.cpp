#include "nereus/runtime/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace nereus::runtime {

namespace {

// A signal handler can reach nothing but static storage.
std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int /*signal*/) {
  constexpr char kNotice[] = "\nnereus: finishing the step and saving; once more to stop at once\n";
  if (signals.fetch_add(1) > 0) _exit(130);
  if (write(STDERR_FILENO, kNotice, sizeof kNotice - 1) < 0) return;
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  signals = 0;
  handle(note);
}

Interrupt::~Interrupt() {
  handle(SIG_DFL);
}

bool Interrupt::requested() const {
  return signals > 0;
}

}  // namespace nereus::runtime
