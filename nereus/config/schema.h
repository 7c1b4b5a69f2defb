#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nereus/config/key_table.h"
#include "nereus/config/overrides.h"
#include "nereus/config/places.h"
#include "nereus/config/schema_text.h"

namespace nereus::config {

/// A value that was read, with where its keys stand.
template <class T>
struct Document {
  T value;
  Places places;
};

/// All that a file about a T may say: its keys, and its [[lists]] of tables that have keys of their own.
/// Reads, writes back and compares. Immutable once the lists are added, then thread-safe.
template <class T>
class Schema {
 public:
  /// `page` documents the keys: errors about unknown ones name it.
  Schema(const KeyTable<T>& keys, std::string page) : keys_(keys.keys()), page_(std::move(page)) {}

  /// The tables [[name]], kept in the vector that `access` gives; `keys` are named "name.KEY".
  template <class Item, class Access>
  void add_list(std::string name, const KeyTable<Item>& keys, Access access) {
    List list;
    list.name = std::move(name);
    list.keys = [keys = keys.keys(), access](size_t index) {
      std::vector<Key<T>> lifted;
      for (const auto& key : keys) lifted.push_back(lift(key, access, index));
      return lifted;
    };
    list.size = [access](const T& object) { return access(object).size(); };
    list.append = [access](T& object) { access(object).emplace_back(); };
    lists_.push_back(std::move(list));
  }

  /// Reads a file's text over the defaults in `start`. `source` names it in errors, relative paths in it are
  /// those of `folder`. Error: FILE:LINE with the key and what was expected.
  Result<Document<T>> read(std::string_view text, const std::string& source, const std::string& folder,
                           T start = {}) const {
    const auto entries = parse_toml(text, source);
    if (!entries) return pass(entries);
    Document<T> document{std::move(start), Places(source)};
    for (const auto& entry : *entries)
      if (auto status = apply(document, entry, folder); !status) return pass(status);
    return document;
  }

  /// Sets keys as the command line says them; relative paths are those of the working directory.
  Status set(Document<T>& document, const Overrides& overrides) const {
    for (const auto& [name, text] : overrides) {
      const auto found = find(name);
      const KeyKind kind = found ? found->kind : KeyKind::text;
      const ConfigEntry entry{name, value_from_text(text, kind), "--" + name};
      if (auto status = apply(document, entry, "."); !status) return status;
    }
    return {};
  }

  /// The object as a file that reads back as the same object. `documented` adds each key's documentation.
  std::string text(const T& object, bool documented = false) const {
    std::string out;
    print_keys(out, texts(keys_, object), false, documented);
    for (const auto& list : lists_)
      for (size_t i = 0; i < list.size(object); ++i)
        print_keys(out, texts(list.keys(i), object), true, documented);
    return out;
  }

  /// Keys whose values differ, with both values.
  std::vector<std::string> differences(const T& now, const T& before) const {
    std::vector<std::string> out;
    compare(out, keys_, now, before, "");
    for (const auto& list : lists_) {
      const size_t a = list.size(now), b = list.size(before);
      if (a != b) out.push_back(fmt::format("{}: {} of them, were {}", list.name, a, b));
      for (size_t i = 0; i < std::min(a, b); ++i)
        compare(out, list.keys(i), now, before, fmt::format("[[{}]] {}: ", list.name, i));
    }
    return out;
  }

  /// All names, those of lists without a number: "reward.weight".
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& key : keys_) out.push_back(key.name);
    for (const auto& list : lists_)
      for (const auto& key : list.keys(0)) out.push_back(key.name);
    return out;
  }

 private:
  struct List {
    std::string name;
    std::function<std::vector<Key<T>>(size_t)> keys;  ///< of the table at an index
    std::function<size_t(const T&)> size;
    std::function<void(T&)> append;
  };

  template <class Item, class Access>
  static Key<T> lift(const Key<Item>& key, Access access, size_t index) {
    Key<T> lifted{key.name, key.kind, key.expected, key.doc, {}, {}};
    lifted.set = [set = key.set, access, index](T& object, const ConfigValue& value) {
      return set(access(object)[index], value);
    };
    lifted.get = [get = key.get, access, index](const T& object) { return get(access(object)[index]); };
    return lifted;
  }

  static std::optional<Key<T>> find_in(const std::vector<Key<T>>& keys, const std::string& name) {
    const auto found = std::ranges::find(keys, name, &Key<T>::name);
    if (found == keys.end()) return std::nullopt;
    return *found;
  }

  const List* find_list(const std::optional<NumberedKey>& numbered) const {
    if (!numbered) return nullptr;
    const auto found = std::ranges::find(lists_, numbered->list, &List::name);
    return found == lists_.end() ? nullptr : &*found;
  }

  /// By its full name, "reward.0.weight".
  std::optional<Key<T>> find(const std::string& name) const {
    const auto numbered = split_numbered(name);
    const List* list = find_list(numbered);
    return list == nullptr ? find_in(keys_, name) : find_in(list->keys(numbered->index), numbered->name);
  }

  Status apply(Document<T>& document, const ConfigEntry& entry, const std::string& folder) const {
    const auto numbered = split_numbered(entry.key);
    const List* list = find_list(numbered);
    const auto key = find(entry.key);
    if (!key) return unknown(entry, list == nullptr ? entry.key : numbered->name);
    if (list != nullptr) {
      if (auto status = make_room(document.value, *list, numbered->index, entry); !status) return status;
    }
    const auto value = key->kind == KeyKind::path ? resolved_path(entry.value, folder) : entry.value;
    if (auto status = key->set(document.value, value); !status)
      return fail("{}: {}: {}", entry.place, entry.key, status.error().message);
    document.places.add(entry.key, entry.place);
    return {};
  }

  /// `plain` is the key without the number of its table.
  Status unknown(const ConfigEntry& entry, const std::string& plain) const {
    for (const auto& list : lists_)
      if (entry.key.starts_with(list.name + ".") && plain == entry.key)
        return fail("{}: {}: expected a table [[{}]], which may stand several times", entry.place, entry.key,
                    list.name);
    return unknown_key(entry, plain, names(), page_);
  }

  static Status make_room(T& object, const List& list, size_t index, const ConfigEntry& entry) {
    const size_t size = list.size(object);
    if (index > size)
      return fail("{}: {}: there are {} [[{}]], counted from 0", entry.place, entry.key, size, list.name);
    if (index == size) list.append(object);
    return {};
  }

  static std::vector<KeyText> texts(const std::vector<Key<T>>& keys, const T& object) {
    std::vector<KeyText> out;
    for (const auto& key : keys) out.push_back({key.name, key.doc, key.expected, key.get(object)});
    return out;
  }

  static void compare(std::vector<std::string>& out, const std::vector<Key<T>>& keys, const T& now,
                      const T& before, const std::string& prefix) {
    for (const auto& key : keys)
      if (const auto a = key.get(now), b = key.get(before); a != b)
        out.push_back(prefix + difference_text(key.name, a, b));
  }

  std::vector<Key<T>> keys_;
  std::vector<List> lists_;
  std::string page_;
};

}  // namespace nereus::config
