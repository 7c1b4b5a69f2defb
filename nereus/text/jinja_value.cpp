#include "nereus/text/jinja_value.h"

#include <algorithm>
#include <limits>

namespace nereus::text::jinja {
namespace {

int checked_depth(int inner) {
  if (inner >= kMaxValueDepth) refuse("values nested deeper than {} levels", kMaxValueDepth);
  return inner + 1;
}

std::shared_ptr<const Sequence> make_sequence(std::vector<Value> items, bool tuple) {
  int inner = 0;
  for (const Value& item : items) inner = std::max(inner, item.depth());
  return std::make_shared<const Sequence>(Sequence{std::move(items), tuple, checked_depth(inner)});
}

bool same_key(const Value& a, const Value& b) {
  if (a.string() && b.string()) return a.string()->text == b.string()->text;
  if (a.index() && b.index()) return *a.index() == *b.index();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  return a.is_none() && b.is_none();
}

}  // namespace

std::string Undefined::message() const {
  if (!hint.empty()) return hint;
  if (owner.empty()) return fmt::format("'{}' is undefined", name);
  if (element) return fmt::format("{} has no element {}", owner, name);
  return fmt::format("'{}' has no attribute '{}'", owner, name);
}

Value::Value(std::string text, bool markup)
    : data_(std::make_shared<const String>(String{std::move(text), markup})) {}

Value::Value(Undefined why) : data_(std::make_shared<const Undefined>(std::move(why))) {}

Value Value::list(std::vector<Value> items) {
  return Value(make_sequence(std::move(items), false));
}
Value Value::tuple(std::vector<Value> items) {
  return Value(make_sequence(std::move(items), true));
}

std::shared_ptr<const Sequence> Value::shared_sequence() const {
  const auto* held = std::get_if<std::shared_ptr<const Sequence>>(&data_);
  return held ? *held : nullptr;
}

std::optional<int64_t> Value::index() const {
  if (const int64_t* value = integer()) return *value;
  if (const bool* value = boolean()) return *value ? 1 : 0;
  return std::nullopt;
}

double Value::number() const {
  if (const double* value = real()) return *value;
  return static_cast<double>(*index());
}

const char* Value::type() const {
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (real()) return "float";
  if (undefined()) return "Undefined";
  if (string()) return string()->markup ? "Markup" : "str";
  if (sequence()) return sequence()->tuple ? "tuple" : "list";
  if (dict()) return "dict";
  if (space()) return "Namespace";
  return function() ? "function" : "LoopContext";
}

std::string Value::object_name() const {
  return is_none() ? std::string("None") : std::string(type()) + " object";
}

int Value::depth() const {
  if (sequence()) return sequence()->depth;
  if (dict()) return dict()->depth;
  if (loop()) return loop()->items->depth + 1;
  return function() ? function()->depth : 0;
}

const Value* Dict::find(const Value& key) const {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& i) { return same_key(i.first, key); });
  return found == items.end() ? nullptr : &found->second;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    if (name.string() && name.string()->text == key) return &value;
  }
  return nullptr;
}

void DictBuilder::set(const Value& key, Value value) {
  check_key(key);
  budget_.spend(1 + dict_.items.size() / 8);
  dict_.depth = std::max(dict_.depth, checked_depth(value.depth()));
  for (auto& item : dict_.items) {
    if (same_key(item.first, key)) {
      item.second = std::move(value);
      return;
    }
  }
  dict_.items.emplace_back(key, std::move(value));
}

void DictBuilder::set_all(const Dict& other) {
  for (const auto& [key, value] : other.items) set(key, value);
}

Value DictBuilder::build() {
  return Value(std::make_shared<const Dict>(std::move(dict_)));
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(name, std::move(value));
}

void check_key(const Value& key) {
  if (!key.is_string() && !key.is_number() && !key.is_none()) refuse("a {} can't be a key", key.type());
}

Value from_json(const OrderedJson& json, int level) {
  if (level >= kMaxValueDepth) refuse("variables nested deeper than {} levels", kMaxValueDepth);
  if (json.is_null()) return Value();
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_number_unsigned() &&
      json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    refuse("the integer {} among the variables needs more than 64 bits", json.get<uint64_t>());
  }
  if (json.is_number()) return Value(json.get<int64_t>());
  if (json.is_string()) return Value(json.get_ref<const std::string&>());
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const auto& item : json) items.push_back(from_json(item, level + 1));
    return Value::list(std::move(items));
  }
  if (!json.is_object()) refuse("a variable is neither null, boolean, number, string, array nor object");
  Dict dict;
  dict.items.reserve(json.size());
  for (const auto& [key, item] : json.items()) {
    Value value = from_json(item, level + 1);
    dict.depth = std::max(dict.depth, checked_depth(value.depth()));
    dict.items.emplace_back(Value(key), std::move(value));
  }
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

}  // namespace nereus::text::jinja
