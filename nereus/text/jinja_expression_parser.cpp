#include "nereus/text/jinja_expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "nereus/text/jinja_filters.h"
#include "nereus/text/jinja_tests.h"

namespace nereus::text::jinja {
namespace {

using Kind = Token::Kind;

constexpr int kMaxDepth = 200;

int depth_of(const ExprPtr& expr) {
  return expr ? expr->depth : 0;
}

template <class... Rest>
int depth_of(const ExprPtr& first, const Rest&... rest) {
  return std::max(depth_of(first), depth_of(rest...));
}

int depth_of(const CallArguments& arguments) {
  int depth = depth_of(arguments.star, arguments.star_star);
  for (const auto& value : arguments.positional) depth = std::max(depth, value->depth);
  for (const auto& [name, value] : arguments.named) depth = std::max(depth, value->depth);
  return depth;
}

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
  if (depth_below >= kMaxDepth)
    fail(line, fmt::format("an expression nested deeper than {} levels", kMaxDepth));
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
  if (++nesting_ > kMaxDepth) {
    fail(current().line, fmt::format("an expression nested deeper than {} levels", kMaxDepth));
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
    if (++nesting_ > kMaxDepth) fail(token.line, fmt::format("more than {} levels of signs", kMaxDepth));
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

ExprPtr ExpressionParser::postfix(ExprPtr object) {
  while (true) {
    if (current().symbol(".")) {
      object = dot(std::move(object));
    } else if (current().symbol("[")) {
      object = subscript(std::move(object));
    } else if (current().symbol("(")) {
      object = call(std::move(object));
    } else {
      return object;
    }
  }
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr value) {
  while (true) {
    if (current().symbol("|")) {
      next();
      value = filter(std::move(value));
    } else if (current().name("is")) {
      value = test(std::move(value));
    } else if (current().symbol("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::dot(ExprPtr object) {
  const int line = next().line;
  const int depth = object->depth;
  if (current().kind == Kind::kInteger) return make(line, depth, ItemExpr{std::move(object), number()});
  std::string attribute = name("a name or a number after '.'");
  return make(line, depth, AttributeExpr{std::move(object), std::move(attribute)});
}

ExprPtr ExpressionParser::subscript(ExprPtr object) {
  const int line = next().line;
  if (current().symbol("]")) fail(line, "expected an index between '[' and ']'");
  ExprPtr key = current().symbol(":") ? nullptr : expression();
  if (current().symbol(":")) return slice(line, std::move(object), std::move(key));
  if (current().symbol(",")) {
    std::vector<ExprPtr> items;
    int depth = key->depth;
    items.push_back(std::move(key));
    while (skip_symbol(",") && !current().symbol("]")) {
      items.push_back(expression());
      depth = std::max(depth, items.back()->depth);
    }
    key = make(line, depth, ListExpr{std::move(items), true});
  }
  expect_symbol("]");
  const int depth = depth_of(object, key);
  return make(line, depth, ItemExpr{std::move(object), std::move(key)});
}

ExprPtr ExpressionParser::slice(int line, ExprPtr object, ExprPtr start) {
  next();
  const auto bound = [&] { return current().symbol(":") || current().symbol("]") ? nullptr : expression(); };
  ExprPtr stop = bound();
  ExprPtr step = skip_symbol(":") ? bound() : nullptr;
  expect_symbol("]");
  const int depth = depth_of(object, start, stop, step);
  return make(line, depth, SliceExpr{std::move(object), std::move(start), std::move(stop), std::move(step)});
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  const int line = current().line;
  CallArguments bound = arguments();
  const int depth = std::max(callee->depth, depth_of(bound));
  return make(line, depth, CallExpr{std::move(callee), std::move(bound)});
}

CallArguments ExpressionParser::arguments() {
  expect_symbol("(");
  CallArguments all;
  bool first = true;
  while (!current().symbol(")")) {
    if (!first) expect_symbol(",");
    if (current().symbol(")")) break;
    first = false;
    const int line = current().line;
    const bool only_named = all.star_star != nullptr;
    if (skip_symbol("**")) {
      if (only_named) fail(line, "a call takes one '**' argument");
      all.star_star = expression();
    } else if (skip_symbol("*")) {
      if (all.star || only_named) fail(line, "misplaced '*' argument");
      all.star = expression();
    } else if (current().kind == Kind::kName && at_ + 1 < tokens_.size() && tokens_[at_ + 1].symbol("=")) {
      if (only_named) fail(line, "a named argument follows '**'");
      std::string key = next().text;
      next();
      all.named.emplace_back(std::move(key), expression());
    } else {
      if (!all.named.empty() || all.star || only_named)
        fail(line, "a positional argument follows a named one");
      all.positional.push_back(expression());
    }
  }
  expect_symbol(")");
  return all;
}

ExprPtr ExpressionParser::filter(ExprPtr input) {
  const int line = current().line;
  const std::string filter_name = name("the name of a filter");
  const FilterFunction function = find_filter(filter_name);
  if (!function && conditions == 0) fail(line, fmt::format("No filter named '{}'.", filter_name));
  CallArguments bound = current().symbol("(") ? arguments() : CallArguments{};
  const int depth = std::max(depth_of(input), depth_of(bound));
  return make(line, depth, FilterExpr{std::move(input), filter_name, function, std::move(bound)});
}

ExprPtr ExpressionParser::filters(ExprPtr input, bool inside_tag) {
  ExprPtr value = std::move(input);
  if (inside_tag) value = filter(std::move(value));
  while (skip_symbol("|")) value = filter(std::move(value));
  return value;
}

bool ExpressionParser::starts_primary() const {
  const Token& token = current();
  switch (token.kind) {
    case Kind::kName:
      return token.text != "else" && token.text != "or" && token.text != "and";
    case Kind::kString:
    case Kind::kInteger:
    case Kind::kFloat:
      return true;
    default:
      return token.symbol("(") || token.symbol("[") || token.symbol("{");
  }
}

ExprPtr ExpressionParser::test(ExprPtr value) {
  const int line = next().line;
  const bool negated = skip_name("not");
  const std::string test_name = name("the name of a test");
  const TestFunction function = find_test(test_name);
  if (!function && conditions == 0) fail(line, fmt::format("No test named '{}'.", test_name));
  CallArguments bound;
  if (current().symbol("(")) {
    bound = arguments();
  } else if (starts_primary()) {
    if (current().name("is")) fail(line, "tests can't be chained with 'is'");
    bound.positional.push_back(postfix(primary()));
  }
  const int depth = std::max(value->depth, depth_of(bound));
  ExprPtr result = make(line, depth, TestExpr{std::move(value), test_name, function, std::move(bound)});
  return negated ? make(line, depth + 1, NotExpr{std::move(result)}) : std::move(result);
}

Target ExpressionParser::target(bool several, bool namespaces, std::string_view end_name) {
  const auto one = [&]() -> Target {
    if (skip_symbol("(")) {
      if (++nesting_ > kMaxDepth) fail(current().line, "targets nested too deep");
      Target inner = target(true, namespaces);
      --nesting_;
      expect_symbol(")");
      return inner;
    }
    const int line = current().line;
    Target result{name("the name of a variable")};
    for (const char* constant : {"true", "True", "false", "False", "none", "None"}) {
      if (result.name == constant) fail(line, fmt::format("can't assign to '{}'", constant));
    }
    if (namespaces && skip_symbol(".")) result.attribute = name("the name of an attribute");
    return result;
  };
  Target first = one();
  if (!several || !current().symbol(",")) return first;
  Target all;
  all.parts.push_back(std::move(first));
  while (skip_symbol(",") && !current().symbol("=") && !tuple_ends(end_name)) all.parts.push_back(one());
  return all;
}

}  // namespace nereus::text::jinja
