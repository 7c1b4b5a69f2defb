#include "nereus/text/jinja_access.h"
#include "nereus/text/jinja_interpreter.h"
#include "nereus/text/jinja_methods.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"

namespace nereus::text::jinja {

Value Interpreter::evaluate_node(const ConstantExpr& constant, const ScopePtr&) {
  return constant.value;
}

Value Interpreter::evaluate_node(const NameExpr& name, const ScopePtr& scope) {
  if (const Value* value = scope->find(name.name)) return *value;
  return Value(Undefined{name.name, {}});
}

Value Interpreter::evaluate_node(const ListExpr& list, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(list.items.size());
  for (const ExprPtr& item : list.items) items.push_back(evaluate(*item, scope));
  return list.tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value Interpreter::evaluate_node(const DictExpr& dict, const ScopePtr& scope) {
  DictBuilder builder(budget_);
  for (const auto& [key, value] : dict.items) {
    const Value name = evaluate(*key, scope);
    builder.set(name, evaluate(*value, scope));
  }
  return builder.build();
}

Value Interpreter::evaluate_node(const AttributeExpr& attribute, const ScopePtr& scope) {
  return get_attribute(evaluate(*attribute.object, scope), attribute.name, budget_);
}

Value Interpreter::evaluate_node(const ItemExpr& item, const ScopePtr& scope) {
  const Value object = evaluate(*item.object, scope);
  return get_item(object, evaluate(*item.key, scope), budget_);
}

Value Interpreter::evaluate_node(const SliceExpr& slice, const ScopePtr& scope) {
  const Value object = evaluate(*slice.object, scope);
  const auto bound = [&](const ExprPtr& expr) { return expr ? evaluate(*expr, scope) : Value(); };
  const Value start = bound(slice.start), stop = bound(slice.stop), step = bound(slice.step);
  return get_slice(object, start, stop, step, budget_);
}

Value Interpreter::evaluate_node(const CallExpr& expression, const ScopePtr& scope) {
  return call(expression, evaluate_arguments(expression.arguments, scope), scope);
}

Value Interpreter::evaluate_node(const FilterExpr& filter, const ScopePtr& scope) {
  const int line = line_;
  const Value input = evaluate(*filter.input, scope);
  const Arguments arguments = evaluate_arguments(filter.arguments, scope);
  line_ = line;
  if (!filter.filter) refuse("No filter named '{}'.", filter.name);
  return filter.filter(input, arguments, budget_);
}

Value Interpreter::evaluate_node(const TestExpr& test, const ScopePtr& scope) {
  const int line = line_;
  const Value input = evaluate(*test.input, scope);
  const Arguments arguments = evaluate_arguments(test.arguments, scope);
  line_ = line;
  if (!test.test) refuse("No test named '{}'.", test.name);
  return Value(test.test(input, arguments, budget_));
}

Value Interpreter::evaluate_node(const NotExpr& expression, const ScopePtr& scope) {
  return Value(!truthy(evaluate(*expression.operand, scope)));
}

Value Interpreter::evaluate_node(const SignExpr& sign, const ScopePtr& scope) {
  return signed_value(evaluate(*sign.operand, scope), sign.negative);
}

Value Interpreter::evaluate_node(const LogicExpr& logic, const ScopePtr& scope) {
  Value left = evaluate(*logic.left, scope);
  return truthy(left) == logic.conjunction ? evaluate(*logic.right, scope) : left;
}

Value Interpreter::evaluate_node(const ArithmeticExpr& expression, const ScopePtr& scope) {
  const int line = line_;
  const Value left = evaluate(*expression.left, scope);
  const Value right = evaluate(*expression.right, scope);
  line_ = line;
  return arithmetic(expression.op, left, right, budget_);
}

Value Interpreter::evaluate_node(const ConcatExpr& concat, const ScopePtr& scope) {
  std::string text;
  for (const ExprPtr& part : concat.parts) {
    text += to_text(evaluate(*part, scope), budget_);
    budget_.spend_text(text.size());
  }
  return Value(std::move(text));
}

Value Interpreter::evaluate_node(const CompareExpr& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.first, scope);
  for (const auto& [op, operand] : expression.rest) {
    Value right = evaluate(*operand, scope);
    if (!compare(op, left, right, budget_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_node(const ConditionalExpr& conditional, const ScopePtr& scope) {
  if (truthy(evaluate(*conditional.condition, scope))) return evaluate(*conditional.value, scope);
  if (conditional.otherwise) return evaluate(*conditional.otherwise, scope);
  return Value(Undefined{
      {}, {}, false, "the inline if-expression evaluated to false and no else section was defined."});
}

Arguments Interpreter::evaluate_arguments(const CallArguments& given, const ScopePtr& scope) {
  Arguments arguments;
  for (const ExprPtr& value : given.positional) arguments.positional.push_back(evaluate(*value, scope));
  for (const auto& [name, value] : given.named) arguments.named.emplace_back(name, evaluate(*value, scope));
  if (given.star) {
    const auto items = iterate(evaluate(*given.star, scope), budget_);
    budget_.spend(items.size());
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (given.star_star) {
    const Value dict = evaluate(*given.star_star, scope);
    if (!dict.dict()) refuse("argument after ** must be a mapping, not {}", dict.type());
    budget_.spend(dict.dict()->items.size());
    for (const auto& [name, value] : dict.dict()->items) {
      if (!name.is_string()) refuse("keywords must be strings");
      arguments.named.emplace_back(name.string()->text, value);
    }
  }
  return arguments;
}

Value Interpreter::call(const CallExpr& expression, Arguments arguments, const ScopePtr& scope) {
  const int line = expression.callee->line;
  // A method is called on its object at once, without making it a value first.
  const auto* attribute = std::get_if<AttributeExpr>(&expression.callee->node);
  Value callee;
  if (attribute) {
    const Value object = evaluate(*attribute->object, scope);
    line_ = line;
    if (has_method(object, attribute->name)) return call_method(object, attribute->name, arguments, budget_);
    callee = get_attribute(object, attribute->name, budget_);
  } else {
    callee = evaluate(*expression.callee, scope);
  }
  line_ = line;
  require_defined(callee);
  if (const Function* function = callee.function()) return function->call(arguments);
  if (callee.loop() && !callee.loop()->recurse)
    refuse("only a loop marked 'recursive' can be called, and from within");
  if (!callee.loop()) refuse("'{}' object is not callable", callee.type());
  const auto recurse = callee.loop()->recurse;
  return recurse(arguments);
}

}  // namespace nereus::text::jinja
