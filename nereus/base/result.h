#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace nereus {

/// An error that can be expected (bad file, bad request, lost peer), as a sentence that a user can act on:
/// it names the file, key, line or tensor, and what was expected.
struct Error {
  std::string message;
};

/// A value or an Error. Broken invariants throw instead.
template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// `return fail("{}: expected {}", path, what);`
template <class... Args>
tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// Passes an error on: `if (!x) return pass(x);`
template <class T>
tl::unexpected<Error> pass(const Result<T>& result) {
  return tl::unexpected(result.error());
}

/// The value, or an exception with the error's message: for start-up code and tests.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace nereus
