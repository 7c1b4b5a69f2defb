#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/tasks/reward.h"

namespace nereus::tasks {

/// 1 where the completion, without the white space around it, equals the column's text, else 0. A column that
/// is an array holds several accepted answers.
std::unique_ptr<Reward> make_exact_match(std::string name, std::string column);

/// 1 where the last number in the completion equals the last number in the column's text, else 0. Numbers may
/// have a sign, thousands commas, decimals and an exponent, and are compared exactly: 1,250.0 equals 1250.
std::unique_ptr<Reward> make_number_match(std::string name, std::string column);

/// 1 where the pattern (PCRE2, UTF-8) is found in the completion, else 0. {column} in the pattern stands for
/// that column's text, taken literally. A match that takes too many steps gives an absent reward and a
/// warning. Error: the pattern does not compile.
Result<std::unique_ptr<Reward>> make_regex_match(std::string name, const std::string& pattern);

/// The last number in `text` in one canonical form ("-12.5"), or nothing.
std::optional<std::string> last_number(std::string_view text);

}  // namespace nereus::tasks
