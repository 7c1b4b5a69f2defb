#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nereus/text/chat_template.h"
#include "nereus/text/jinja_ast.h"

namespace nereus::text::jinja {

/// The variables of a block; lookups go outwards through `parent`.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}

  const Value* find(std::string_view name) const;  ///< nullptr where undefined
  void set(const std::string& name, Value value);

  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> variables{};
};
using ScopePtr = std::shared_ptr<Scope>;

/// Runs a template once. Throws Failure. Not thread-safe; the template is only read.
class Interpreter {
 public:
  Interpreter(const Template& parsed, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string run(const OrderedJson& variables);
  int line() const { return line_; }  ///< of what was evaluated last

 private:
  enum class Flow { kNext, kBreak, kContinue };

  Flow execute(const Body& body, const ScopePtr& scope);
  Flow execute(const Stmt& stmt, const ScopePtr& scope);
  Flow execute_node(const TextStmt& text, const ScopePtr& scope);
  Flow execute_node(const OutputStmt& output, const ScopePtr& scope);
  Flow execute_node(const ForStmt& loop, const ScopePtr& scope);
  Flow execute_node(const IfStmt& condition, const ScopePtr& scope);
  Flow execute_node(const SetStmt& set, const ScopePtr& scope);
  Flow execute_node(const SetBlockStmt& set, const ScopePtr& scope);
  Flow execute_node(const MacroStmt& macro, const ScopePtr& scope);
  Flow execute_node(const CallStmt& call, const ScopePtr& scope);
  Flow execute_node(const FilterStmt& filter, const ScopePtr& scope);
  Flow execute_node(const WithStmt& with, const ScopePtr& scope);
  Flow execute_node(const GenerationStmt& generation, const ScopePtr& scope);
  Flow execute_node(const BreakStmt&, const ScopePtr&) { return Flow::kBreak; }
  Flow execute_node(const ContinueStmt&, const ScopePtr&) { return Flow::kContinue; }

  Flow run_loop(const ForStmt& loop, const Value& iterable, const ScopePtr& scope, int64_t depth);
  std::shared_ptr<const Sequence> loop_items(const ForStmt& loop, const Value& iterable,
                                             const ScopePtr& scope);
  void write(std::string_view text);
  /// What `body` writes, kept from the output.
  std::pair<std::string, Flow> capture(const Body& body, const ScopePtr& scope);
  Value filtered_block(const ExprPtr& filter, std::string text, const ScopePtr& scope);
  void assign(const Target& target, const Value& value, const ScopePtr& scope);

  Value evaluate(const Expr& expr, const ScopePtr& scope);
  Value evaluate_node(const ConstantExpr& constant, const ScopePtr& scope);
  Value evaluate_node(const NameExpr& name, const ScopePtr& scope);
  Value evaluate_node(const ListExpr& list, const ScopePtr& scope);
  Value evaluate_node(const DictExpr& dict, const ScopePtr& scope);
  Value evaluate_node(const AttributeExpr& attribute, const ScopePtr& scope);
  Value evaluate_node(const ItemExpr& item, const ScopePtr& scope);
  Value evaluate_node(const SliceExpr& slice, const ScopePtr& scope);
  Value evaluate_node(const CallExpr& call, const ScopePtr& scope);
  Value evaluate_node(const FilterExpr& filter, const ScopePtr& scope);
  Value evaluate_node(const TestExpr& test, const ScopePtr& scope);
  Value evaluate_node(const NotExpr& operand, const ScopePtr& scope);
  Value evaluate_node(const SignExpr& sign, const ScopePtr& scope);
  Value evaluate_node(const LogicExpr& logic, const ScopePtr& scope);
  Value evaluate_node(const ArithmeticExpr& arithmetic, const ScopePtr& scope);
  Value evaluate_node(const ConcatExpr& concat, const ScopePtr& scope);
  Value evaluate_node(const CompareExpr& compare, const ScopePtr& scope);
  Value evaluate_node(const ConditionalExpr& conditional, const ScopePtr& scope);

  Arguments evaluate_arguments(const CallArguments& arguments, const ScopePtr& scope);
  Value call(const CallExpr& call, Arguments arguments, const ScopePtr& scope);
  Value make_macro(const MacroDefinition& macro, const ScopePtr& scope);
  std::string call_macro(const MacroDefinition& macro, const ScopePtr& defined_in,
                         const Arguments& arguments);
  void bind_parameters(const MacroDefinition& macro, const Arguments& arguments, const ScopePtr& scope);
  ScopePtr globals();
  Value make_namespace(const Arguments& arguments);

  const Template& parsed_;
  const RenderOptions& options_;
  Budget budget_;
  std::string* out_ = nullptr;
  int line_ = 0;
  int depth_ = 0;
  // What may refer to itself, emptied at the end so that nothing leaks.
  std::vector<ScopePtr> captured_{};
  std::vector<std::shared_ptr<Namespace>> namespaces_{};
  std::vector<std::shared_ptr<Loop>> escaped_loops_{};
};

}  // namespace nereus::text::jinja
