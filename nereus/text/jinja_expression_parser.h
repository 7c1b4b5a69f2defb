#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/text/jinja_ast.h"
#include "nereus/text/jinja_lexer.h"

namespace nereus::text::jinja {

/// Levels of an expression; 0 for null.
inline int depth_of(const ExprPtr& expr) {
  return expr ? expr->depth : 0;
}

template <class... Rest>
int depth_of(const ExprPtr& first, const Rest&... rest) {
  return std::max(depth_of(first), depth_of(rest...));
}

/// How deep expressions may nest, and how deep the parser may recurse.
constexpr int kMaxExpressionDepth = 200;

/// The tokens of a template and the grammar of its expressions, from the loosest binding to the tightest.
/// Refuses nesting that evaluation couldn't follow.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  ExprPtr expression(bool conditional = true);
  /// An expression, or several with commas between them as a tuple. Ends at a closing tag, a ')' or
  /// `end_name`.
  ExprPtr tuple(bool conditional = true, std::string_view end_name = {}, bool parenthesised = false);
  /// One or several filters over `input`; the first without its '|' where `inside_tag`.
  ExprPtr filters(ExprPtr input, bool inside_tag);
  Target target(bool several, bool namespaces, std::string_view end_name = {});
  std::string name(std::string_view what);

  const Token& current() const { return tokens_[at_]; }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_symbol(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_symbol(std::string_view text);
  void expect(Token::Kind kind, std::string_view what);
  [[noreturn]] void fail(int line, std::string message) const { throw Failure{std::move(message), line}; }

  ExprPtr variable(int line, std::string name) const { return make(line, 0, NameExpr{std::move(name)}); }
  void mark_use(std::string_view name);

  /// Whether what is parsed now may never be reached, so that unknown filters and tests are no error yet.
  int conditions = 0;
  /// The macros around what is parsed now, innermost last.
  std::vector<MacroDefinition*> macros{};

 private:
  ExprPtr logic(bool conjunction);
  ExprPtr negation();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filters = true);
  ExprPtr primary();
  ExprPtr name_or_constant();
  ExprPtr number();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr postfix(ExprPtr object);
  ExprPtr filters_and_tests(ExprPtr value);
  ExprPtr dot(ExprPtr object);
  ExprPtr subscript(ExprPtr object);
  ExprPtr slice(int line, ExprPtr object, ExprPtr start);
  ExprPtr call(ExprPtr callee);
  ExprPtr filter(ExprPtr input);
  ExprPtr test(ExprPtr value);
  CallArguments arguments();
  bool tuple_ends(std::string_view end_name) const;
  bool starts_primary() const;
  ExprPtr make(int line, int depth_below, Expr::Node node) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace nereus::text::jinja
