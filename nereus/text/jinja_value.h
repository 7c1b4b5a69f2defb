#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/text/jinja_failure.h"

namespace nereus::text::jinja {

class Value;
struct Sequence;
struct Dict;
struct Namespace;
struct Function;
struct Loop;

/// Containers nest at most so deep; what copies, prints or destroys them may recurse.
constexpr int kMaxValueDepth = 300;

/// Why a value is undefined; the sentence is made only where somebody asks.
struct Undefined {
  std::string name;   ///< of the variable, attribute or (printed) element
  std::string owner;  ///< type of the object that lacks it, as "dict object"; empty for a variable
  bool element = false;
  std::string hint{};  ///< replaces the sentence where set
  std::string message() const;
};

struct String {
  std::string text;
  bool markup = false;  ///< what `safe` and `escape` give: text added to it is escaped
};

/// A Python value. Cheap to copy: everything large is shared and immutable (namespaces and loops excepted).
class Value {
 public:
  Value() : data_(nullptr) {}  // none
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string text, bool markup = false);
  explicit Value(std::string_view text) : Value(std::string(text)) {}
  explicit Value(const char* text) : Value(std::string(text)) {}
  explicit Value(Undefined why);
  explicit Value(std::shared_ptr<const Sequence> items) : data_(std::move(items)) {}
  explicit Value(std::shared_ptr<const Dict> dict) : data_(std::move(dict)) {}
  explicit Value(std::shared_ptr<Namespace> space) : data_(std::move(space)) {}
  explicit Value(std::shared_ptr<const Function> function) : data_(std::move(function)) {}
  explicit Value(std::shared_ptr<Loop> loop) : data_(std::move(loop)) {}

  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);

  bool is_none() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool is_undefined() const { return undefined() != nullptr; }
  bool is_string() const { return string() != nullptr; }
  bool is_number() const { return boolean() || integer() || real(); }

  // Each is null where the value is of another type.
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const Undefined* undefined() const { return pointer<const Undefined>(); }
  const String* string() const { return pointer<const String>(); }
  const Sequence* sequence() const { return pointer<const Sequence>(); }
  const Dict* dict() const { return pointer<const Dict>(); }
  Namespace* space() const { return pointer<Namespace>(); }
  const Function* function() const { return pointer<const Function>(); }
  Loop* loop() const { return pointer<Loop>(); }

  std::shared_ptr<const Sequence> shared_sequence() const;

  /// An integer or a boolean, as Python indexes with either.
  std::optional<int64_t> index() const;
  /// Any number. REQUIRES: is_number()
  double number() const;

  const char* type() const;         ///< as Python names it: "str", "NoneType"
  std::string object_name() const;  ///< as Jinja names it: "str object", "None"
  int depth() const;                ///< 0 for what holds no other values
  /// Python's `is`: the same object, or equal constants.
  bool same(const Value& other) const { return data_ == other.data_; }

 private:
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held ? held->get() : nullptr;
  }

  std::variant<std::nullptr_t, bool, int64_t, double, std::shared_ptr<const Undefined>,
               std::shared_ptr<const String>, std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
               std::shared_ptr<Namespace>, std::shared_ptr<const Function>, std::shared_ptr<Loop>>
      data_;
};

/// A list or a tuple.
struct Sequence {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 1;
};

/// An ordered mapping; keys are strings, numbers, booleans or none, and unique.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;

  const Value* find(const Value& key) const;  ///< nullptr where missing
  const Value* find(std::string_view key) const;
};

/// Collects a Dict; a key set twice keeps its place and takes the later value.
class DictBuilder {
 public:
  explicit DictBuilder(Budget& budget) : budget_(budget) {}
  void set(const Value& key, Value value);
  void set_all(const Dict& other);
  Value build();

 private:
  Budget& budget_;
  Dict dict_;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Something to be called: a macro, a method bound to its object, a global.
struct Function {
  std::string name;
  std::function<Value(const Arguments&)> call;
  int depth = 0;  ///< of the object it is bound to, plus one
};

/// What a template knows as `loop`. Changed by the loop that it belongs to.
struct Loop {
  std::shared_ptr<const Sequence> items;
  size_t index = 0;
  int64_t depth = 1;
  std::optional<std::vector<Value>> last_changed{};
  std::function<Value(const Arguments&)> recurse{};  ///< empty where the loop isn't `recursive`
};

/// Throws where a key can't be one (a list, an undefined value).
void check_key(const Value& key);

/// REQUIRES: the JSON has no more than kMaxValueDepth levels, else a Failure.
Value from_json(const OrderedJson& json, int level = 0);

}  // namespace nereus::text::jinja
