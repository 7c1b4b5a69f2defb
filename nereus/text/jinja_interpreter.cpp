#include "nereus/text/jinja_interpreter.h"

#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"

namespace nereus::text::jinja {
namespace {

/// Levels of evaluation: bounds the machine's stack, whatever macros call whatever.
constexpr int kMaxDepth = 1000;

/// Counts a level for as long as it lives.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) {
    if (depth_ >= kMaxDepth) refuse("macros or expressions nested deeper than {} levels", kMaxDepth);
    ++depth_;
  }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& depth_;
};

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->parent.get()) {
    for (const auto& [key, value] : scope->variables) {
      if (key == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  for (auto& [key, old] : variables) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(const Template& parsed, const RenderOptions& options)
    : parsed_(parsed), options_(options), budget_(options.max_work) {}

Interpreter::~Interpreter() {
  for (const auto& scope : captured_) scope->variables.clear();
  for (const auto& space : namespaces_) space->attributes.clear();
  for (const auto& loop : escaped_loops_) loop->last_changed.reset();
}

std::string Interpreter::run(const OrderedJson& variables) {
  if (!variables.is_object()) refuse("the variables of a template must be a JSON object");
  const auto given = std::make_shared<Scope>(globals());
  for (const auto& [name, value] : variables.items()) given->variables.emplace_back(name, from_json(value));
  return capture(parsed_.body, std::make_shared<Scope>(given)).first;
}

Interpreter::Flow Interpreter::execute(const Body& body, const ScopePtr& scope) {
  for (const Stmt& stmt : body) {
    const Flow flow = execute(stmt, scope);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute(const Stmt& stmt, const ScopePtr& scope) {
  const Level level(depth_);
  budget_.spend(1);
  line_ = stmt.line;
  return std::visit([&](const auto& node) { return execute_node(node, scope); }, stmt.node);
}

void Interpreter::write(std::string_view text) {
  budget_.spend_text(text.size());
  if (out_->size() + text.size() > options_.max_output) {
    refuse("the template writes more than {} bytes (the limit is `max_output`)", options_.max_output);
  }
  *out_ += text;
}

std::pair<std::string, Interpreter::Flow> Interpreter::capture(const Body& body, const ScopePtr& scope) {
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  const Flow flow = execute(body, scope);
  out_ = outer;  // after a failure nothing is written any more
  return {std::move(text), flow};
}

Interpreter::Flow Interpreter::execute_node(const TextStmt& text, const ScopePtr&) {
  write(text.text);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_node(const OutputStmt& output, const ScopePtr& scope) {
  for (const ExprPtr& value : output.values) write(to_text(evaluate(*value, scope), budget_));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_node(const ForStmt& loop, const ScopePtr& scope) {
  return run_loop(loop, evaluate(*loop.items, scope), scope, 1);
}

/// The items that fulfil the loop's condition.
std::shared_ptr<const Sequence> Interpreter::loop_items(const ForStmt& loop, const Value& iterable,
                                                        const ScopePtr& scope) {
  auto items = iterate(iterable, budget_);
  if (!loop.condition) return items.shared();
  std::vector<Value> kept;
  for (const Value& item : items) {
    budget_.spend(1);
    const auto inner = std::make_shared<Scope>(scope);
    assign(loop.target, item, inner);
    if (truthy(evaluate(*loop.condition, inner))) kept.push_back(item);
  }
  return Value::list(std::move(kept)).shared_sequence();
}

Interpreter::Flow Interpreter::run_loop(const ForStmt& loop, const Value& iterable, const ScopePtr& scope,
                                        int64_t depth) {
  const auto state = std::make_shared<Loop>(Loop{loop_items(loop, iterable, scope), 0, depth});
  if (loop.recursive) {
    state->recurse = [this, &loop, scope, depth](const Arguments& arguments) {
      if (arguments.positional.size() != 1) refuse("a recursive loop is called with one iterable");
      std::string text;
      std::string* outer = std::exchange(out_, &text);
      run_loop(loop, arguments.positional[0], scope, depth + 1);
      out_ = outer;
      return Value(std::move(text));
    };
  }
  for (; state->index < state->items->items.size(); ++state->index) {
    budget_.spend(2);
    const auto inner = std::make_shared<Scope>(scope);
    inner->variables.emplace_back("loop", Value(state));
    assign(loop.target, state->items->items[state->index], inner);
    if (execute(loop.body, inner) == Flow::kBreak) break;
  }
  state->recurse = nullptr;
  const bool empty = state->items->items.empty();
  if (state.use_count() > 1) escaped_loops_.push_back(state);
  // A `break` in the `else` leaves the loop outside.
  return empty ? execute(loop.otherwise, std::make_shared<Scope>(scope)) : Flow::kNext;
}

Interpreter::Flow Interpreter::execute_node(const IfStmt& condition, const ScopePtr& scope) {
  for (const auto& [test, body] : condition.branches) {
    if (truthy(evaluate(*test, scope))) return execute(body, scope);
  }
  return execute(condition.otherwise, scope);
}

void Interpreter::assign(const Target& target, const Value& value, const ScopePtr& scope) {
  if (!target.parts.empty()) {
    const auto items = iterate(value, budget_);
    if (items.size() != target.parts.size()) {
      refuse("can't unpack {} values into {} variables", items.size(), target.parts.size());
    }
    for (size_t i = 0; i < target.parts.size(); ++i) assign(target.parts[i], items[i], scope);
  } else if (!target.attribute) {
    budget_.spend(1 + scope->variables.size() / 8);
    scope->set(target.name, value);
  } else {
    const Value* space = scope->find(target.name);
    if (!space || !space->space()) refuse("cannot assign attribute on non-namespace object");
    if (target.attribute->starts_with('_')) {
      refuse("a namespace can't hold '{}': the underscore in front is not allowed", *target.attribute);
    }
    budget_.spend(1 + space->space()->attributes.size() / 8);
    space->space()->set(*target.attribute, value);
  }
}

Interpreter::Flow Interpreter::execute_node(const SetStmt& set, const ScopePtr& scope) {
  assign(set.target, evaluate(*set.value, scope), scope);
  return Flow::kNext;
}

Value Interpreter::filtered_block(const ExprPtr& filter, std::string text, const ScopePtr& scope) {
  if (!filter) return Value(std::move(text));
  const auto inner = std::make_shared<Scope>(scope);
  inner->variables.emplace_back(kBlockText, Value(std::move(text)));
  return evaluate(*filter, inner);
}

Interpreter::Flow Interpreter::execute_node(const SetBlockStmt& set, const ScopePtr& scope) {
  auto [text, flow] = capture(set.body, std::make_shared<Scope>(scope));
  if (flow == Flow::kNext) assign(set.target, filtered_block(set.filter, std::move(text), scope), scope);
  return flow;
}

Interpreter::Flow Interpreter::execute_node(const MacroStmt& macro, const ScopePtr& scope) {
  scope->set(macro.macro.name, make_macro(macro.macro, scope));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_node(const CallStmt& statement, const ScopePtr& scope) {
  const auto& expression = std::get<CallExpr>(statement.call->node);
  Arguments arguments = evaluate_arguments(expression.arguments, scope);
  arguments.named.emplace_back("caller", make_macro(statement.caller, scope));
  write(to_text(call(expression, std::move(arguments), scope), budget_));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_node(const FilterStmt& filter, const ScopePtr& scope) {
  auto [text, flow] = capture(filter.body, std::make_shared<Scope>(scope));
  if (flow == Flow::kNext) write(to_text(filtered_block(filter.filter, std::move(text), scope), budget_));
  return flow;
}

Interpreter::Flow Interpreter::execute_node(const WithStmt& with, const ScopePtr& scope) {
  const auto inner = std::make_shared<Scope>(scope);
  for (const auto& [target, value] : with.values) assign(target, evaluate(*value, scope), inner);
  return execute(with.body, inner);
}

Interpreter::Flow Interpreter::execute_node(const GenerationStmt& generation, const ScopePtr& scope) {
  return execute(generation.body, std::make_shared<Scope>(scope));
}

Value Interpreter::evaluate(const Expr& expr, const ScopePtr& scope) {
  const Level level(depth_);
  budget_.spend(1);
  line_ = expr.line;
  return std::visit([&](const auto& node) { return evaluate_node(node, scope); }, expr.node);
}

}  // namespace nereus::text::jinja
