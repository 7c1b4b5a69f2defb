#pragma once

#include "nereus/text/jinja_ast.h"

namespace nereus::text::jinja {

// Python's operators on values, with Jinja's undefined: most uses of it throw, printing, testing and looping
// don't.

/// Throws that `value` is undefined, if it is.
void require_defined(const Value& value);

bool truthy(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
bool less(const Value& a, const Value& b, Budget& budget);
bool compare(CompareOp op, const Value& a, const Value& b, Budget& budget);
Value arithmetic(ArithmeticOp op, const Value& a, const Value& b, Budget& budget);
Value signed_value(const Value& value, bool negative);

/// The items that a loop visits; keeps them alive, so that `for (item : iterate(...))` is safe.
class Items {
 public:
  explicit Items(std::shared_ptr<const Sequence> held) : held_(std::move(held)) {}

  auto begin() const { return held_->items.begin(); }
  auto end() const { return held_->items.end(); }
  size_t size() const { return held_->items.size(); }
  bool empty() const { return held_->items.empty(); }
  const Value& operator[](size_t i) const { return held_->items[i]; }
  const std::vector<Value>& all() const { return held_->items; }
  const std::shared_ptr<const Sequence>& shared() const { return held_; }

 private:
  std::shared_ptr<const Sequence> held_;
};

/// How many items, characters or keys. Throws for what has no length.
int64_t length(const Value& value, Budget& budget);
/// What a loop over `value` visits: items, characters, keys. Throws for what can't be looped over.
Items iterate(const Value& value, Budget& budget);

}  // namespace nereus::text::jinja
