#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/config_value.h"

namespace nereus::config {

/// Which numbers a key takes.
struct Bounds {
  std::optional<double> low, high;
  bool above_low = false;  ///< low itself is refused

  bool holds(double value) const;
  std::string words(const std::string& noun) const;  ///< "a number greater than 0 and at most 1"
};
Bounds at_least(double low);
Bounds above(double low);
Bounds between(double low, double high);  ///< both ends allowed

/// One key: its name, its words, and how it reads and writes the field of T that holds it.
template <class T>
struct Key {
  std::string name;  ///< with its section: "train.learning_rate"
  KeyKind kind = KeyKind::text;
  std::string expected;                                     ///< "a number of at least 0"
  std::string doc;                                          ///< one sentence or two, for the reference page
  std::function<Status(T&, const ConfigValue&)> set;        ///< error: "expected ..., found ..."
  std::function<std::optional<ConfigValue>(const T&)> get;  ///< nothing where an optional field is unset
};

/// Reads a value as the field's type; the error says what was expected and what was found.
Result<bool> read_boolean(const ConfigValue& value, const std::string& expected);
Result<int64_t> read_integer(const ConfigValue& value, const Bounds& bounds, const std::string& expected);
Result<double> read_number(const ConfigValue& value, const Bounds& bounds, const std::string& expected);
Result<std::string> read_text(const ConfigValue& value, const std::string& expected);
Result<std::vector<std::string>> read_list(const ConfigValue& value, const std::string& expected);
double shortest(float value);  ///< the double that prints as the float does: 0.2, not 0.20000000298

/// The list of keys that binds name, documentation and field: reading, writing back, `--key value` and
/// the reference page all come from it. An accessor is a generic lambda, used for const objects too:
/// `[](auto& job) -> auto& { return job.run.seed; }`.
template <class T>
class KeyTable {
 public:
  template <class Access>
  void add(std::string name, Access access, std::string doc, Bounds bounds = {}) {
    using Field = std::remove_reference_t<decltype(access(std::declval<T&>()))>;
    keys_.push_back(make<Field>(std::move(name), access, std::move(doc), bounds));
  }

  /// A field with few values, spelled as given.
  template <class Access, class Value>
  void choice(std::string name, Access access, std::vector<std::pair<std::string, Value>> choices,
              std::string doc) {
    std::string expected = "one of";
    for (const auto& [word, value] : choices) expected += " \"" + word + "\"";
    Key<T> key{std::move(name), KeyKind::choice, expected, std::move(doc), {}, {}};
    key.set = [access, choices, expected](T& object, const ConfigValue& value) -> Status {
      for (const auto& [word, meaning] : choices)
        if (value == ConfigValue(word)) return access(object) = meaning, Status();
      return fail("expected {}, found {}", expected, to_toml(value));
    };
    key.get = [access, choices](const T& object) -> std::optional<ConfigValue> {
      for (const auto& [word, meaning] : choices)
        if (access(object) == meaning) return word;
      return std::nullopt;
    };
    keys_.push_back(std::move(key));
  }

  /// A key that reads and writes by itself.
  void add(Key<T> key) { keys_.push_back(std::move(key)); }

  const std::vector<Key<T>>& keys() const { return keys_; }
  const Key<T>* find(std::string_view name) const {
    for (const auto& key : keys_)
      if (key.name == name) return &key;
    return nullptr;
  }

 private:
  template <class Field, class Access>
  static Key<T> make(std::string name, Access access, std::string doc, Bounds bounds) {
    Key<T> key{std::move(name), kind_of<Field>(), words<Field>(bounds), std::move(doc), {}, {}};
    key.set = [access, bounds, expected = key.expected](T& object, const ConfigValue& value) -> Status {
      auto read = convert<Field>(value, bounds, expected);
      if (!read) return pass(read);
      access(object) = std::move(*read);
      return {};
    };
    key.get = [access](const T& object) { return value_of(access(object)); };
    return key;
  }

  template <class Field>
  struct Unwrapped {
    using Type = Field;
  };
  template <class Field>
  struct Unwrapped<std::optional<Field>> {
    using Type = Field;
  };

  template <class Field>
  static constexpr KeyKind kind_of() {
    using Plain = typename Unwrapped<Field>::Type;
    if constexpr (std::same_as<Plain, bool>)
      return KeyKind::boolean;
    else if constexpr (std::integral<Plain>)
      return KeyKind::integer;
    else if constexpr (std::floating_point<Plain>)
      return KeyKind::number;
    else if constexpr (std::same_as<Plain, std::filesystem::path>)
      return KeyKind::path;
    else if constexpr (std::same_as<Plain, std::vector<std::string>>)
      return KeyKind::list;
    else
      return KeyKind::text;
  }

  template <class Field>
  static std::string words(const Bounds& bounds) {
    switch (kind_of<Field>()) {
      case KeyKind::boolean:
        return "true or false";
      case KeyKind::integer:
        return bounds.words("an integer");
      case KeyKind::number:
        return bounds.words("a number");
      case KeyKind::path:
        return "a path";
      case KeyKind::list:
        return "a list of strings";
      default:
        return "a string";
    }
  }

  template <class Field>
  static Result<typename Unwrapped<Field>::Type> convert(const ConfigValue& value, const Bounds& bounds,
                                                         const std::string& expected) {
    using Plain = typename Unwrapped<Field>::Type;
    if constexpr (kind_of<Field>() == KeyKind::boolean)
      return read_boolean(value, expected);
    else if constexpr (kind_of<Field>() == KeyKind::integer)
      return read_integer(value, within<Plain>(bounds), expected).map([](int64_t v) {
        return static_cast<Plain>(v);
      });
    else if constexpr (kind_of<Field>() == KeyKind::number)
      return read_number(value, bounds, expected).map([](double v) { return static_cast<Plain>(v); });
    else if constexpr (kind_of<Field>() == KeyKind::list)
      return read_list(value, expected);
    else
      return read_text(value, expected).map([](std::string v) { return Plain(std::move(v)); });
  }

  /// The bounds, and those of the field's own type.
  template <class Integer>
  static Bounds within(Bounds bounds) {
    const auto low = static_cast<double>(std::numeric_limits<Integer>::lowest());
    const auto high = static_cast<double>(std::numeric_limits<Integer>::max());
    bounds.low = std::max(bounds.low.value_or(low), low);
    bounds.high = std::min(bounds.high.value_or(high), high);
    return bounds;
  }

  static std::optional<ConfigValue> value_of(bool v) { return v; }
  template <std::integral Integer>
  static std::optional<ConfigValue> value_of(Integer v) {
    return static_cast<int64_t>(v);
  }
  static std::optional<ConfigValue> value_of(double v) { return v; }
  static std::optional<ConfigValue> value_of(float v) { return shortest(v); }
  static std::optional<ConfigValue> value_of(const std::string& v) { return v; }
  static std::optional<ConfigValue> value_of(const std::filesystem::path& v) { return v.string(); }
  static std::optional<ConfigValue> value_of(const std::vector<std::string>& v) { return v; }
  template <class Inner>
  static std::optional<ConfigValue> value_of(const std::optional<Inner>& v) {
    return v ? value_of(*v) : std::nullopt;
  }

  std::vector<Key<T>> keys_;
};

}  // namespace nereus::config
