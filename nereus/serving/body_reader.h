#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "nereus/base/json.h"

namespace nereus::serving {

/// Reads the keys of a request's body one by one. A value of another type is an error that names its key,
/// and never counts as absent; the first error is kept. Null is absent. REQUIRES: an object, which lives
/// longer.
class BodyReader {
 public:
  explicit BodyReader(const OrderedJson& body) : body_(body) {}

  /// The value; null where it is absent.
  const OrderedJson* find(const char* key) const;
  template <class T>
  void number(const char* key, double least, double most, T& value) {
    const OrderedJson* found = find(key);
    if (!found) return;
    const bool right = std::is_floating_point_v<T> ? found->is_number() : found->is_number_integer();
    const double given = right ? found->get<double>() : 0;
    if (right && given >= least && given <= most)
      value = found->get<T>();
    else
      fail_with(fmt::format("\"{}\": expected a{} from {} to {}", key,
                            std::is_floating_point_v<T> ? " number" : "n integer", least, most));
  }
  /// Any integer; negative ones are as good as others.
  void key64(const char* key, std::optional<uint64_t>& value);
  void flag(const char* key, bool& value);
  void text(const char* key, std::string& value);
  /// An object with anything in it; null where it is absent.
  const OrderedJson* object(const char* key);
  /// One that would change what is done, and is not supported but as `only`.
  void refuse(const char* key, const OrderedJson& only);

  void fail_with(std::string message);
  /// "" where all was right so far.
  const std::string& error() const { return error_; }

 private:
  const OrderedJson& body_;
  std::string error_;
};

}  // namespace nereus::serving
