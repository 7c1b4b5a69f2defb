#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "nereus/tasks/match_rewards.h"

namespace nereus::tasks {
namespace {

constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212, as models like to write it
constexpr int kLargestExponent = 1000;

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Reads numbers from left to right.
class NumberScanner {
 public:
  explicit NumberScanner(std::string_view text) : text_(text) {}

  /// The next number in canonical form, or nothing at the end.
  std::optional<std::string> next() {
    while (at_ < text_.size() && !starts_number()) ++at_;
    if (at_ == text_.size()) return std::nullopt;
    const bool negative = has_sign();
    std::string digits = whole_part();
    const size_t whole = digits.size();
    digits += fraction();
    return canonical(negative, digits, static_cast<int64_t>(whole) + exponent());
  }

 private:
  char at(size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  bool starts_number() const {
    if (digit(at(at_))) return true;
    return at(at_) == '.' && digit(at(at_ + 1)) && (at_ == 0 || !(digit(at(at_ - 1)) || letter(at(at_ - 1))));
  }

  /// A minus just before is a sign, unless it follows a digit, a letter or a bracket: "10-3" holds 10 and 3.
  bool has_sign() const {
    const std::string_view before = text_.substr(0, at_);
    const size_t length = before.ends_with('-') ? 1 : before.ends_with(kMinus) ? kMinus.size() : 0;
    if (length == 0) return false;
    if (before.size() == length) return true;
    const char c = before[before.size() - length - 1];
    return !digit(c) && !letter(c) && c != ')' && c != ']';
  }

  std::string whole_part() {
    const size_t start = at_;
    while (digit(at(at_))) ++at_;
    std::string digits(text_.substr(start, at_ - start));
    if (digits.empty() || digits.size() > 3) return digits;
    while (thousands()) {
      digits += text_.substr(at_ + 1, 3);
      at_ += 4;
    }
    return digits;
  }

  bool thousands() const {
    return at(at_) == ',' && digit(at(at_ + 1)) && digit(at(at_ + 2)) && digit(at(at_ + 3)) &&
           !digit(at(at_ + 4));
  }

  std::string fraction() {
    if (at(at_) != '.' || !digit(at(at_ + 1))) return "";
    const size_t start = ++at_;
    while (digit(at(at_))) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  /// The exponent of "1e6", or 0; one that is out of range is left in the text.
  int64_t exponent() {
    if (at(at_) != 'e' && at(at_) != 'E') return 0;
    size_t place = at_ + 1;
    if (at(place) == '+') ++place;
    int value = 0;
    const auto [end, error] = std::from_chars(text_.data() + place, text_.data() + text_.size(), value);
    if (error != std::errc() || std::abs(value) > kLargestExponent) return 0;
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  /// `digits` with the decimal point after the first `point` of them (which may lie outside).
  static std::string canonical(bool negative, std::string digits, int64_t point) {
    const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
    digits.erase(0, zeros);
    point -= static_cast<int64_t>(zeros);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.empty()) return "0";
    const auto size = static_cast<int64_t>(digits.size());
    if (point <= 0)
      digits = "0." + std::string(static_cast<size_t>(-point), '0') + digits;
    else if (point >= size)
      digits.append(static_cast<size_t>(point - size), '0');
    else
      digits.insert(static_cast<size_t>(point), 1, '.');
    return (negative ? "-" : "") + digits;
  }

  std::string_view text_;
  size_t at_ = 0;
};

class NumberMatch final : public Reward {
 public:
  NumberMatch(std::string name, std::string column) : name_(std::move(name)), column_(std::move(column)) {}

  const std::string& name() const override { return name_; }

  Result<RewardValues> score(std::span<const RewardInput> inputs) override {
    RewardValues values;
    for (const RewardInput& input : inputs) {
      const auto text = column_text(name_, *input.sample, column_);
      if (!text) return pass(text);
      const auto expected = last_number(*text);
      if (!expected)
        return fail("reward \"{}\": {}: expected a number in column \"{}\", not \"{}\"", name_,
                    input.sample->source, column_, *text);
      values.emplace_back(last_number(input.text) == expected ? 1.0 : 0.0);
    }
    return values;
  }

 private:
  std::string name_, column_;
};

}  // namespace

std::optional<std::string> last_number(std::string_view text) {
  NumberScanner scanner(text);
  std::optional<std::string> last;
  while (auto number = scanner.next()) last = std::move(number);
  return last;
}

std::unique_ptr<Reward> make_number_match(std::string name, std::string column) {
  return std::make_unique<NumberMatch>(std::move(name), std::move(column));
}

}  // namespace nereus::tasks
