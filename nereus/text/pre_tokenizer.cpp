#include "nereus/text/pre_tokenizer.h"

#include "nereus/text/json_field.h"

namespace nereus::text {

namespace {

using Step = PreTokenizer::Step;
using Behavior = PreTokenizer::Behavior;

Result<Behavior> behavior_from(std::string_view name, std::string_view where) {
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Removed") return Behavior::removed;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  return fail("{}.behavior: unknown \"{}\"", where, name);
}

std::string escaped(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (std::string_view(R"(\^$.|?*+()[]{}-#& )").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

Result<std::string> pattern_of(const Json& json, std::string_view where) {
  const auto pattern = object_field(json, "pattern", where);
  if (!pattern) return pass(pattern);
  const std::string inside = fmt::format("{}.pattern", where);
  if (find_field(**pattern, "Regex")) return string_field(**pattern, "Regex", inside);
  const auto literal = string_field(**pattern, "String", inside);
  if (!literal) return fail("{}: expected a Regex or a String", inside);
  return escaped(*literal);
}

Result<Step> split_step(const Json& json, std::string_view where) {
  const auto pattern = pattern_of(json, where);
  if (!pattern) return pass(pattern);
  const auto regex = Regex::compile(*pattern, fmt::format("{}.pattern", where));
  if (!regex) return pass(regex);
  const auto name = string_field(json, "behavior", where);
  if (!name) return pass(name);
  const auto behavior = behavior_from(*name, where);
  if (!behavior) return pass(behavior);
  const auto invert = bool_field(json, "invert", false, where);
  if (!invert) return pass(invert);
  return Step{.pattern = *regex, .behavior = *behavior, .invert = *invert};
}

Result<Step> digits_step(const Json& json, std::string_view where) {
  const auto individual = bool_field(json, "individual_digits", false, where);
  if (!individual) return pass(individual);
  const auto regex = Regex::compile(R"(\p{N})", where);
  if (!regex) return pass(regex);
  return Step{.pattern = *regex, .behavior = *individual ? Behavior::isolated : Behavior::contiguous};
}

Result<Step> byte_level_step(const Json& json, std::string_view where) {
  const auto prefix = bool_field(json, "add_prefix_space", true, where);
  if (!prefix) return pass(prefix);
  const auto use_regex = bool_field(json, "use_regex", true, where);
  if (!use_regex) return pass(use_regex);
  Step step{.prefix_space = *prefix};
  if (*use_regex) {
    const auto regex = Regex::compile(kGpt2Pattern, where);
    if (!regex) return pass(regex);
    step.pattern = *regex;
  }
  return step;
}

Result<Step> one_step(const Json& json, std::string_view type, std::string_view where) {
  if (type == "Split") return split_step(json, where);
  if (type == "Digits") return digits_step(json, where);
  if (type == "ByteLevel") return byte_level_step(json, where);
  return fail("{}.type is \"{}\"; expected Split, Digits, ByteLevel or a Sequence of these", where, type);
}

/// Adds steps, and the type of the last one.
Status add_steps(const Json& json, std::string_view where, std::vector<Step>& out, std::string& last) {
  const auto type = string_field(json, "type", where);
  if (!type) return pass(type);
  if (*type != "Sequence") {
    // What follows ByteLevel would cut its alphabet, not the text.
    if (last == "ByteLevel") return fail("{}: {} after ByteLevel is not supported", where, *type);
    auto step = one_step(json, *type, where);
    if (!step) return pass(step);
    out.push_back(std::move(*step));
    last = *type;
    return {};
  }
  const auto parts = array_field(json, "pretokenizers", where);
  if (!parts) return pass(parts);
  for (size_t i = 0; i < (*parts)->size(); ++i) {
    const auto inside = fmt::format("{}.pretokenizers[{}]", where, i);
    if (auto added = add_steps((**parts)[i], inside, out, last); !added) return added;
  }
  return {};
}

/// Puts a space in front of each piece that begins with none.
void add_prefix_spaces(std::string& text, std::vector<Span>& pieces) {
  std::string out;
  for (Span& piece : pieces) {
    const size_t begin = out.size();
    if (text[piece.begin] != ' ') out += ' ';
    out.append(text, piece.begin, piece.end - piece.begin);
    piece = {begin, out.size()};
  }
  text = std::move(out);
}

/// Matches and what lies between them, in order; `is_match` beside each.
struct Part {
  Span span;
  bool is_match;
};

std::vector<Part> all_parts(size_t size, const std::vector<Span>& matches, bool invert) {
  std::vector<Part> out;
  size_t done = 0;
  for (const Span& match : matches) {
    if (match.begin > done) out.push_back({{done, match.begin}, invert});
    out.push_back({match, !invert});
    done = match.end;
  }
  if (size > done) out.push_back({{done, size}, invert});
  return out;
}

/// Whether a part joins the one before it, by whether each is a match and whether that before has already
/// taken in a match.
bool joins(Behavior behavior, bool before, bool is_match) {
  switch (behavior) {
    case Behavior::contiguous:
      return before == is_match;
    case Behavior::merged_with_previous:
      return is_match && !before;
    case Behavior::merged_with_next:
      return before && !is_match;
    default:
      return false;
  }
}

}  // namespace

std::vector<Span> cut(size_t size, const std::vector<Span>& matches, Behavior behavior, bool invert) {
  std::vector<Span> out;
  bool before = false;
  for (const Part& part : all_parts(size, matches, invert)) {
    const bool removed = behavior == Behavior::removed && part.is_match;
    if (!removed && !out.empty() && joins(behavior, before, part.is_match)) {
      out.back().end = part.span.end;
    } else if (!removed) {
      out.push_back(part.span);
    }
    before = part.is_match;
  }
  return out;
}

Result<PreTokenizer> PreTokenizer::from_json(const Json& json, std::string_view where) {
  std::vector<Step> steps;
  std::string last;
  if (auto added = add_steps(json, where, steps, last); !added) return pass(added);
  if (last != "ByteLevel") return fail("{}: expected a ByteLevel step at the end (byte-level BPE)", where);
  return PreTokenizer(std::move(steps));
}

Result<PreTokenizer> PreTokenizer::from_patterns(const std::vector<std::string_view>& patterns,
                                                 std::string_view where) {
  std::vector<Step> steps;
  for (const auto pattern : patterns) {
    const auto regex = Regex::compile(pattern, where);
    if (!regex) return pass(regex);
    steps.push_back({.pattern = *regex});
  }
  return PreTokenizer(std::move(steps));
}

std::vector<Span> PreTokenizer::split(std::string& text) const {
  std::vector<Span> pieces;
  if (!text.empty()) pieces.push_back({0, text.size()});
  std::vector<Span> next, matches;
  for (const Step& step : steps_) {
    if (step.prefix_space) add_prefix_spaces(text, pieces);
    if (!step.pattern) continue;
    RegexMatcher matcher(*step.pattern);
    next.clear();
    for (const Span& piece : pieces) {
      const auto part = std::string_view(text).substr(piece.begin, piece.end - piece.begin);
      matches.clear();
      matcher.find_all(part, matches);
      for (const Span& span : cut(part.size(), matches, step.behavior, step.invert)) {
        next.push_back({piece.begin + span.begin, piece.begin + span.end});
      }
    }
    std::swap(pieces, next);
  }
  return pieces;
}

}  // namespace nereus::text
