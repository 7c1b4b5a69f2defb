#include <algorithm>

#include "nereus/text/jinja_globals.h"
#include "nereus/text/jinja_interpreter.h"
#include "nereus/text/jinja_operators.h"

namespace nereus::text::jinja {
namespace {

const Value* find_named(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

Value Interpreter::make_macro(const MacroDefinition& macro, const ScopePtr& scope) {
  captured_.push_back(scope);
  Function function{macro.name, {}};
  function.call = [this, &macro, scope](const Arguments& arguments) {
    return Value(call_macro(macro, scope, arguments));
  };
  return Value(std::make_shared<const Function>(std::move(function)));
}

std::string Interpreter::call_macro(const MacroDefinition& macro, const ScopePtr& defined_in,
                                    const Arguments& arguments) {
  const auto scope = std::make_shared<Scope>(defined_in);
  bind_parameters(macro, arguments, scope);
  return capture(macro.body, scope).first;
}

void Interpreter::bind_parameters(const MacroDefinition& macro, const Arguments& arguments,
                                  const ScopePtr& scope) {
  const size_t positional = arguments.positional.size(), declared = macro.parameters.size();
  if (positional > declared && !macro.uses_varargs) {
    refuse("macro '{}' takes not more than {} argument(s)", macro.name, declared);
  }
  DictBuilder kwargs(budget_);
  for (const auto& [name, value] : arguments.named) {
    const auto found =
        std::find_if(macro.parameters.begin(), macro.parameters.end(),
                     [&, key = &name](const Parameter& parameter) { return parameter.name == *key; });
    if (found < macro.parameters.begin() + static_cast<int64_t>(std::min(positional, declared))) {
      refuse("macro '{}' got multiple values for argument '{}'", macro.name, name);
    }
    if (found != macro.parameters.end() || (name == "caller" && macro.uses_caller)) continue;
    if (!macro.uses_kwargs) refuse("macro '{}' takes no keyword argument '{}'", macro.name, name);
    kwargs.set(Value(name), value);
  }
  for (size_t i = 0; i < declared; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* value = i < positional ? &arguments.positional[i] : find_named(arguments, parameter.name);
    if (value)
      scope->set(parameter.name, *value);
    else if (parameter.fallback)
      scope->set(parameter.name, evaluate(*parameter.fallback, scope));
    else
      scope->set(
          parameter.name,
          Value(Undefined{
              parameter.name, {}, false, fmt::format("parameter '{}' was not provided", parameter.name)}));
  }
  if (macro.uses_kwargs) scope->set("kwargs", kwargs.build());
  if (macro.uses_varargs) {
    const auto rest = arguments.positional.begin() + static_cast<int64_t>(std::min(positional, declared));
    scope->set("varargs", Value::tuple({rest, arguments.positional.end()}));
  }
  if (macro.uses_caller) {
    const Value* caller = find_named(arguments, "caller");
    scope->set("caller", caller ? *caller : Value(Undefined{"caller", {}, false, "No caller defined"}));
  }
}

Value Interpreter::make_namespace(const Arguments& arguments) {
  const Value dict = make_dict(arguments, budget_);
  const auto space = std::make_shared<Namespace>();
  for (const auto& [key, value] : dict.dict()->items) {
    if (!key.is_string()) refuse("the attributes of a namespace need strings as names");
    if (key.string()->text.starts_with('_')) {
      refuse("a namespace can't hold '{}': the underscore in front is not allowed", key.string()->text);
    }
    space->attributes.emplace_back(key.string()->text, value);
  }
  namespaces_.push_back(space);
  return Value(space);
}

ScopePtr Interpreter::globals() {
  const auto scope = std::make_shared<Scope>(nullptr);
  const auto add = [&](const char* name, std::function<Value(const Arguments&)> function) {
    scope->variables.emplace_back(
        name, Value(std::make_shared<const Function>(Function{name, std::move(function)})));
  };
  add("range", [this](const Arguments& a) { return range(a, budget_); });
  add("dict", [this](const Arguments& a) { return make_dict(a, budget_); });
  add("namespace", [this](const Arguments& a) { return make_namespace(a); });
  add("raise_exception", [this](const Arguments& a) -> Value { raise_exception(a, budget_); });
  add("strftime_now", [this](const Arguments& a) { return strftime_now(a, options_.local_time, budget_); });
  return scope;
}

}  // namespace nereus::text::jinja
