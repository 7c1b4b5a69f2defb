// What follows an operand: attributes, items, calls, filters and tests; and the targets of assignments.
#include <algorithm>

#include "nereus/text/jinja_expression_parser.h"
#include "nereus/text/jinja_filters.h"
#include "nereus/text/jinja_tests.h"

namespace nereus::text::jinja {

namespace {

using Kind = Token::Kind;

int depth_of(const CallArguments& arguments) {
  int depth = depth_of(arguments.star, arguments.star_star);
  for (const auto& value : arguments.positional) depth = std::max(depth, value->depth);
  for (const auto& [name, value] : arguments.named) depth = std::max(depth, value->depth);
  return depth;
}

}  // namespace

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
      if (++nesting_ > kMaxExpressionDepth) fail(current().line, "targets nested too deep");
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
