#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "nereus/text/jinja_value.h"

namespace nereus::text::jinja {

/// A filter or test: (value, arguments) to a value.
using FilterFunction = Value (*)(const Value&, const Arguments&, Budget&);
using TestFunction = bool (*)(const Value&, const Arguments&, Budget&);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;       ///< *items, or null
  ExprPtr star_star;  ///< **dict, or null
};

enum class ArithmeticOp { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class CompareOp { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

struct ConstantExpr {
  Value value;
};
struct NameExpr {
  std::string name;
};
struct ListExpr {
  std::vector<ExprPtr> items;
  bool tuple;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};
struct AttributeExpr {
  ExprPtr object;
  std::string name;
};
struct ItemExpr {
  ExprPtr object, key;
};
struct SliceExpr {
  ExprPtr object, start, stop, step;
};  ///< the bounds may be null
struct CallExpr {
  ExprPtr callee;
  CallArguments arguments;
};
/// `filter` is null where the name is unknown, an error once the expression is reached; so with tests.
struct FilterExpr {
  ExprPtr input;
  std::string name;
  FilterFunction filter;
  CallArguments arguments;
};
struct TestExpr {
  ExprPtr input;
  std::string name;
  TestFunction test;
  CallArguments arguments;
};
struct NotExpr {
  ExprPtr operand;
};
struct SignExpr {
  ExprPtr operand;
  bool negative;
};
struct LogicExpr {
  ExprPtr left, right;
  bool conjunction;
};
struct ArithmeticExpr {
  ArithmeticOp op;
  ExprPtr left, right;
};
struct ConcatExpr {
  std::vector<ExprPtr> parts;
};
struct CompareExpr {
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct ConditionalExpr {
  ExprPtr condition, value, otherwise;
};  ///< `otherwise` may be null

struct Expr {
  using Node = std::variant<ConstantExpr, NameExpr, ListExpr, DictExpr, AttributeExpr, ItemExpr, SliceExpr,
                            CallExpr, FilterExpr, TestExpr, NotExpr, SignExpr, LogicExpr, ArithmeticExpr,
                            ConcatExpr, CompareExpr, ConditionalExpr>;
  int line;
  int depth;  ///< levels below and including this one
  Node node;
};

struct Stmt;
using Body = std::vector<Stmt>;

/// What `set` and `for` assign to.
struct Target {
  std::string name;
  std::optional<std::string> attribute{};  ///< of the namespace `name`
  std::vector<Target> parts{};             ///< a tuple to unpack, where not empty
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  ///< or null
};

/// The callable of `macro` and `call`.
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
};

struct TextStmt {
  std::string text;
};
struct OutputStmt {
  std::vector<ExprPtr> values;
};
struct ForStmt {
  Target target;
  ExprPtr items, condition;
  bool recursive;
  Body body, otherwise;
};
struct IfStmt {
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};
struct SetStmt {
  Target target;
  ExprPtr value;
};
struct SetBlockStmt {
  Target target;
  ExprPtr filter;
  Body body;
};  ///< `filter` reads the name kBlockText, or is null
struct MacroStmt {
  MacroDefinition macro;
};
struct CallStmt {
  ExprPtr call;
  MacroDefinition caller;
};
struct FilterStmt {
  ExprPtr filter;
  Body body;
};
struct WithStmt {
  std::vector<std::pair<Target, ExprPtr>> values;
  Body body;
};
struct GenerationStmt {
  Body body;
};  ///< what the assistant wrote, as the template marks it for training
struct BreakStmt {};
struct ContinueStmt {};

/// The variable under which a filter of a block finds the block's text; no template can name it.
inline constexpr const char* kBlockText = "<block>";

struct Stmt {
  using Node = std::variant<TextStmt, OutputStmt, ForStmt, IfStmt, SetStmt, SetBlockStmt, MacroStmt, CallStmt,
                            FilterStmt, WithStmt, GenerationStmt, BreakStmt, ContinueStmt>;
  int line;
  Node node;
};

struct Template {
  std::string name;
  Body body;
};

}  // namespace nereus::text::jinja
