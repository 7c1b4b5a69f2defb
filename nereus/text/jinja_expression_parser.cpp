#include "nereus/text/jinja_expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace nereus::text::jinja {
namespace {

using Kind = Token::Kind;

std::optional<CompareOp> compare_op(const Token& token) {
  if (token.kind != Kind::kSymbol) return std::nullopt;
  if (token.text == "==") return CompareOp::kEqual;
  if (token.text == "!=") return CompareOp::kNotEqual;
  if (token.text == "<") return CompareOp::kLess;
  if (token.text == "<=") return CompareOp::kLessEqual;
  if (token.text == ">") return CompareOp::kGreater;
  if (token.text == ">=") return CompareOp::kGreaterEqual;
  return std::nullopt;
}

}  // namespace

ExprPtr ExpressionParser::make(int line, int depth_below, Expr::Node node) const {
  if (depth_below >= kMaxExpressionDepth)
    fail(line, fmt::format("an expression nested deeper than {} levels", kMaxExpressionDepth));
  return std::make_unique<Expr>(Expr{line, depth_below + 1, std::move(node)});
}

bool ExpressionParser::skip_symbol(std::string_view text) {
  if (!current().symbol(text)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_name(std::string_view text) {
  if (!current().name(text)) return false;
  next();
  return true;
}

void ExpressionParser::expect_symbol(std::string_view text) {
  if (!skip_symbol(text))
    fail(current().line, fmt::format("expected '{}', found {}", text, current().describe()));
}

void ExpressionParser::expect(Kind kind, std::string_view what) {
  if (current().kind != kind)
    fail(current().line, fmt::format("expected {}, found {}", what, current().describe()));
  next();
}

std::string ExpressionParser::name(std::string_view what) {
  if (current().kind != Kind::kName) {
    fail(current().line, fmt::format("expected {}, found {}", what, current().describe()));
  }
  return next().text;
}

void ExpressionParser::mark_use(std::string_view used) {
  for (MacroDefinition* macro : macros) {
    const auto shadowed = [&](const Parameter& parameter) { return parameter.name == used; };
    if (std::any_of(macro->parameters.begin(), macro->parameters.end(), shadowed)) continue;
    macro->uses_caller = macro->uses_caller || used == "caller";
    macro->uses_kwargs = macro->uses_kwargs || used == "kwargs";
    macro->uses_varargs = macro->uses_varargs || used == "varargs";
  }
}

ExprPtr ExpressionParser::expression(bool conditional) {
  if (++nesting_ > kMaxExpressionDepth) {
    fail(current().line, fmt::format("an expression nested deeper than {} levels", kMaxExpressionDepth));
  }
  ExprPtr value = logic(false);
  while (conditional && current().name("if")) {
    const int line = next().line;
    ++conditions;
    ExprPtr condition = logic(false);
    ExprPtr otherwise = skip_name("else") ? expression() : nullptr;
    --conditions;
    const int depth = depth_of(condition, value, otherwise);
    value = make(line, depth, ConditionalExpr{std::move(condition), std::move(value), std::move(otherwise)});
  }
  --nesting_;
  return value;
}

ExprPtr ExpressionParser::logic(bool conjunction) {
  const auto operand = [&] { return conjunction ? negation() : logic(true); };
  ExprPtr left = operand();
  while (current().name(conjunction ? "and" : "or")) {
    const int line = next().line;
    ExprPtr right = operand();
    const int depth = depth_of(left, right);
    left = make(line, depth, LogicExpr{std::move(left), std::move(right), conjunction});
  }
  return left;
}

ExprPtr ExpressionParser::negation() {
  std::vector<int> lines;
  while (current().name("not")) lines.push_back(next().line);
  ExprPtr value = comparison();
  for (; !lines.empty(); lines.pop_back()) {
    const int depth = value->depth;
    value = make(lines.back(), depth, NotExpr{std::move(value)});
  }
  return value;
}

ExprPtr ExpressionParser::comparison() {
  ExprPtr first = sum();
  const int line = first->line;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  int depth = first->depth;
  while (true) {
    std::optional<CompareOp> op = compare_op(current());
    if (!op && current().name("in")) op = CompareOp::kIn;
    if (!op && current().name("not") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].name("in")) {
      next();
      op = CompareOp::kNotIn;
    }
    if (!op) break;
    next();
    rest.emplace_back(*op, sum());
    depth = std::max(depth, rest.back().second->depth);
  }
  return rest.empty() ? std::move(first) : make(line, depth, CompareExpr{std::move(first), std::move(rest)});
}

ExprPtr ExpressionParser::sum() {
  ExprPtr left = concatenation();
  while (current().symbol("+") || current().symbol("-")) {
    const Token token = next();
    ExprPtr right = concatenation();
    const int depth = depth_of(left, right);
    const auto op = token.text == "+" ? ArithmeticOp::kAdd : ArithmeticOp::kSubtract;
    left = make(token.line, depth, ArithmeticExpr{op, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::concatenation() {
  ExprPtr first = product();
  if (!current().symbol("~")) return first;
  const int line = current().line;
  int depth = first->depth;
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(first));
  while (skip_symbol("~")) {
    parts.push_back(product());
    depth = std::max(depth, parts.back()->depth);
  }
  return make(line, depth, ConcatExpr{std::move(parts)});
}

ExprPtr ExpressionParser::product() {
  const auto op_of = [](const Token& token) -> std::optional<ArithmeticOp> {
    if (token.symbol("*")) return ArithmeticOp::kMultiply;
    if (token.symbol("/")) return ArithmeticOp::kDivide;
    if (token.symbol("//")) return ArithmeticOp::kFloorDivide;
    if (token.symbol("%")) return ArithmeticOp::kModulo;
    return std::nullopt;
  };
  ExprPtr left = power();
  while (const auto op = op_of(current())) {
    const int line = next().line;
    ExprPtr right = power();
    const int depth = depth_of(left, right);
    left = make(line, depth, ArithmeticExpr{*op, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::power() {
  ExprPtr left = unary();
  while (current().symbol("**")) {
    const int line = next().line;
    ExprPtr right = unary();
    const int depth = depth_of(left, right);
    left = make(line, depth, ArithmeticExpr{ArithmeticOp::kPower, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::unary(bool with_filters) {
  ExprPtr value;
  if (current().symbol("-") || current().symbol("+")) {
    const Token token = next();
    if (++nesting_ > kMaxExpressionDepth)
      fail(token.line, fmt::format("more than {} levels of signs", kMaxExpressionDepth));
    ExprPtr operand = unary(false);
    --nesting_;
    const int depth = operand->depth;
    value = make(token.line, depth, SignExpr{std::move(operand), token.text == "-"});
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::primary() {
  const Token& token = current();
  const int line = token.line;
  if (token.kind == Kind::kName) return name_or_constant();
  if (token.kind == Kind::kInteger || token.kind == Kind::kFloat) return number();
  if (token.kind == Kind::kString) {
    std::string text;
    while (current().kind == Kind::kString) text += next().text;
    return make(line, 0, ConstantExpr{Value(std::move(text))});
  }
  if (skip_symbol("(")) {
    ExprPtr value = tuple(true, {}, true);
    expect_symbol(")");
    return value;
  }
  if (token.symbol("[")) return list();
  if (token.symbol("{")) return dict();
  fail(line, fmt::format("expected an expression, found {}", token.describe()));
}

ExprPtr ExpressionParser::name_or_constant() {
  const Token token = next();
  const std::string& text = token.text;
  if (text == "true" || text == "True") return make(token.line, 0, ConstantExpr{Value(true)});
  if (text == "false" || text == "False") return make(token.line, 0, ConstantExpr{Value(false)});
  if (text == "none" || text == "None") return make(token.line, 0, ConstantExpr{Value()});
  mark_use(text);
  return variable(token.line, text);
}

ExprPtr ExpressionParser::number() {
  const Token token = next();
  if (token.kind == Kind::kFloat) {
    return make(token.line, 0, ConstantExpr{Value(std::strtod(token.text.c_str(), nullptr))});
  }
  std::string_view digits = token.text;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) > '9') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
    digits.remove_prefix(2);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(token.line, fmt::format("'{}' is no integer of 64 bits", token.text));
  }
  return make(token.line, 0, ConstantExpr{Value(value)});
}

bool ExpressionParser::tuple_ends(std::string_view end_name) const {
  const Token& token = current();
  if (token.kind == Kind::kVariableEnd || token.kind == Kind::kBlockEnd || token.symbol(")")) return true;
  return !end_name.empty() && token.name(end_name);
}

ExprPtr ExpressionParser::tuple(bool conditional, std::string_view end_name, bool parenthesised) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  int depth = 0;
  while (!tuple_ends(end_name)) {
    items.push_back(expression(conditional));
    depth = std::max(depth, items.back()->depth);
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.size() == 1) return std::move(items[0]);
  if (!is_tuple && !parenthesised) {
    fail(line, fmt::format("expected an expression, found {}", current().describe()));
  }
  return make(line, depth, ListExpr{std::move(items), true});
}

ExprPtr ExpressionParser::list() {
  const int line = next().line;
  std::vector<ExprPtr> items;
  int depth = 0;
  while (!current().symbol("]")) {
    if (!items.empty()) expect_symbol(",");
    if (current().symbol("]")) break;
    items.push_back(expression());
    depth = std::max(depth, items.back()->depth);
  }
  expect_symbol("]");
  return make(line, depth, ListExpr{std::move(items), false});
}

ExprPtr ExpressionParser::dict() {
  const int line = next().line;
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
  int depth = 0;
  while (!current().symbol("}")) {
    if (!items.empty()) expect_symbol(",");
    if (current().symbol("}")) break;
    ExprPtr key = expression();
    expect_symbol(":");
    items.emplace_back(std::move(key), expression());
    depth = std::max(depth, depth_of(items.back().first, items.back().second));
  }
  expect_symbol("}");
  return make(line, depth, DictExpr{std::move(items)});
}

}  // namespace nereus::text::jinja
