#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace nereus::text::jinja {

/// What is wrong with a template, or went wrong in its run. It is thrown and caught inside the interpreter
/// only: `ChatTemplate` hands it on as an Error, so no caller meets an exception.
struct Failure {
  std::string message;
  int line = 0;  ///< 0 where the thrower doesn't know it
};

/// `refuse("object of type '{}' has no len()", name);`
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{fmt::format(format, std::forward<Args>(args)...)};
}

/// The work a run may still do, so that no template hangs the process or fills its memory. One unit is about
/// one evaluated node, one element or 16 bytes of text.
class Budget {
 public:
  explicit Budget(uint64_t units) : left_(units) {}

  void spend(uint64_t units) {
    if (units > left_) refuse("the template does too much work (the limit is `max_work`)");
    left_ -= units;
  }
  void spend_text(uint64_t bytes) { spend(1 + bytes / 16); }

 private:
  uint64_t left_;
};

}  // namespace nereus::text::jinja
