#include "nereus/text/jinja_parser.h"

#include "nereus/text/jinja_expression_parser.h"

namespace nereus::text::jinja {
namespace {

using Kind = Token::Kind;
using Names = std::initializer_list<std::string_view>;

constexpr int kMaxNesting = 100;

/// The grammar of the statements.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : in_(std::move(tokens)) {}

  /// Statements up to a tag named in `ends`, which becomes the current token; all where `ends` is empty.
  Body body(Names ends);

 private:
  Stmt statement();
  ForStmt for_loop();
  IfStmt condition();
  Stmt::Node assignment();
  MacroStmt macro();
  CallStmt call_block();
  FilterStmt filter_block();
  WithStmt with();
  OutputStmt print();
  template <class Jump>
  Jump jump(const std::string& tag);
  Body block(std::string_view opener, Names ends);
  Body closed_block(std::string_view opener, std::string_view end);
  Body function_block(std::string_view opener, std::string_view end);
  std::vector<Parameter> parameters();

  ExpressionParser in_;
  int nesting_ = 0;
  int loops_ = 0;
};

bool is_one_of(const Token& token, Names names) {
  for (const std::string_view name : names) {
    if (token.name(name)) return true;
  }
  return false;
}

Body Parser::body(Names ends) {
  Body result;
  while (in_.current().kind != Kind::kEnd) {
    const Token token = in_.next();
    if (token.kind == Kind::kData) {
      result.push_back({token.line, TextStmt{token.text}});
    } else if (token.kind == Kind::kVariableBegin) {
      OutputStmt output;
      output.values.push_back(in_.tuple());
      in_.expect(Kind::kVariableEnd, "'}}'");
      result.push_back({token.line, std::move(output)});
    } else {
      if (is_one_of(in_.current(), ends)) return result;
      result.push_back(statement());
      in_.expect(Kind::kBlockEnd, "'%}'");
    }
  }
  return result;
}

/// A body up to one of `ends`, after the rest of the opening tag.
Body Parser::block(std::string_view opener, Names ends) {
  const int line = in_.current().line;
  in_.skip_symbol(":");
  in_.expect(Kind::kBlockEnd, "'%}'");
  if (++nesting_ > kMaxNesting) in_.fail(line, fmt::format("tags nested deeper than {} levels", kMaxNesting));
  Body result = body(ends);
  --nesting_;
  if (in_.current().kind == Kind::kEnd) {
    in_.fail(line, fmt::format("'{}' isn't closed: expected '{}'", opener, *(ends.end() - 1)));
  }
  return result;
}

Body Parser::closed_block(std::string_view opener, std::string_view end) {
  Body result = block(opener, {end});
  in_.next();
  return result;
}

/// A body that runs as a function of its own: loops outside can't be left from within.
Body Parser::function_block(std::string_view opener, std::string_view end) {
  const int outer = std::exchange(loops_, 0);
  Body result = closed_block(opener, end);
  loops_ = outer;
  return result;
}

Stmt Parser::statement() {
  const int line = in_.current().line;
  const std::string tag = in_.name("the name of a tag");
  if (tag == "for") return {line, for_loop()};
  if (tag == "if") return {line, condition()};
  if (tag == "set") return {line, assignment()};
  if (tag == "macro") return {line, macro()};
  if (tag == "call") return {line, call_block()};
  if (tag == "filter") return {line, filter_block()};
  if (tag == "with") return {line, with()};
  if (tag == "print") return {line, print()};
  if (tag == "generation") return {line, GenerationStmt{function_block(tag, "endgeneration")}};
  if (tag == "break") return {line, jump<BreakStmt>(tag)};
  if (tag == "continue") return {line, jump<ContinueStmt>(tag)};
  in_.fail(line, fmt::format("unknown or misplaced tag '{}'", tag));
}

template <class Jump>
Jump Parser::jump(const std::string& tag) {
  if (loops_ == 0) in_.fail(in_.current().line, fmt::format("'{}' outside of a loop", tag));
  return {};
}

ForStmt Parser::for_loop() {
  ForStmt loop{in_.target(true, false, "in"), {}, {}, false, {}, {}};
  if (!in_.skip_name("in")) {
    in_.fail(in_.current().line, fmt::format("expected 'in', found {}", in_.current().describe()));
  }
  loop.items = in_.tuple(false, "recursive");
  if (in_.skip_name("if")) loop.condition = in_.expression();
  loop.recursive = in_.skip_name("recursive");
  ++loops_;
  loop.body = block("for", {"else", "endfor"});
  --loops_;
  if (in_.next().text == "else") loop.otherwise = closed_block("for", "endfor");
  return loop;
}

IfStmt Parser::condition() {
  IfStmt result;
  ++in_.conditions;
  while (true) {
    ExprPtr test = in_.tuple(false);
    result.branches.emplace_back(std::move(test), block("if", {"elif", "else", "endif"}));
    const std::string end = in_.next().text;
    if (end == "elif") continue;
    if (end == "else") result.otherwise = closed_block("if", "endif");
    --in_.conditions;
    return result;
  }
}

Stmt::Node Parser::assignment() {
  const int line = in_.current().line;
  Target target = in_.target(true, true);
  if (in_.skip_symbol("=")) return SetStmt{std::move(target), in_.tuple()};
  ExprPtr filter;
  if (in_.current().symbol("|")) filter = in_.filters(in_.variable(line, kBlockText), false);
  return SetBlockStmt{std::move(target), std::move(filter), closed_block("set", "endset")};
}

std::vector<Parameter> Parser::parameters() {
  std::vector<Parameter> all;
  in_.expect_symbol("(");
  while (!in_.current().symbol(")")) {
    if (!all.empty()) in_.expect_symbol(",");
    const int line = in_.current().line;
    Parameter parameter{in_.name("the name of a parameter"), nullptr};
    if (in_.skip_symbol("=")) {
      parameter.fallback = in_.expression();
    } else if (!all.empty() && all.back().fallback) {
      in_.fail(line, fmt::format("parameter '{}' needs a default as those before it have", parameter.name));
    }
    all.push_back(std::move(parameter));
  }
  in_.expect_symbol(")");
  return all;
}

MacroStmt Parser::macro() {
  MacroStmt result;
  result.macro.name = in_.name("the name of the macro");
  in_.macros.push_back(&result.macro);
  result.macro.parameters = parameters();
  result.macro.body = function_block("macro", "endmacro");
  in_.macros.pop_back();
  return result;
}

CallStmt Parser::call_block() {
  CallStmt result;
  const int line = in_.current().line;
  result.caller.name = "caller";
  in_.macros.push_back(&result.caller);
  if (in_.current().symbol("(")) result.caller.parameters = parameters();
  in_.macros.pop_back();
  result.call = in_.expression();
  if (!std::holds_alternative<CallExpr>(result.call->node)) in_.fail(line, "a call block needs a call");
  in_.macros.push_back(&result.caller);
  result.caller.body = function_block("call", "endcall");
  in_.macros.pop_back();
  return result;
}

FilterStmt Parser::filter_block() {
  ExprPtr filter = in_.filters(in_.variable(in_.current().line, kBlockText), true);
  return {std::move(filter), closed_block("filter", "endfilter")};
}

WithStmt Parser::with() {
  WithStmt result;
  while (in_.current().kind != Kind::kBlockEnd) {
    if (!result.values.empty()) in_.expect_symbol(",");
    Target target = in_.target(false, false);
    in_.expect_symbol("=");
    result.values.emplace_back(std::move(target), in_.expression());
  }
  result.body = closed_block("with", "endwith");
  return result;
}

OutputStmt Parser::print() {
  OutputStmt output;
  while (in_.current().kind != Kind::kBlockEnd) {
    if (!output.values.empty()) in_.expect_symbol(",");
    output.values.push_back(in_.expression());
  }
  return output;
}

}  // namespace

Template parse(std::string_view source, std::string_view name) {
  return {std::string(name), Parser(tokenize(source)).body({})};
}

}  // namespace nereus::text::jinja
