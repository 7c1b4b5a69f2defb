#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nereus/base/result.h"

namespace nereus::tasks {

/// Bounds of the numbers in a built-in task; what is absent has the task's own default.
struct ProblemOptions {
  std::optional<int64_t> min;    ///< smallest number
  std::optional<int64_t> max;    ///< largest number
  std::optional<int64_t> count;  ///< numbers in a list, or letters in a word
};

struct Problem {
  std::string question;
  std::string answer;
};

/// All problems of a built-in task, numbered. Thread-safe.
class Problems {
 public:
  virtual ~Problems() = default;
  virtual uint64_t size() const = 0;
  /// REQUIRES: index < size()
  virtual Problem at(uint64_t index) const = 0;
};

/// Whole numbers from min to max.
struct NumberRange {
  int64_t min = 0, max = 0;
  uint64_t size() const { return static_cast<uint64_t>(max - min) + 1; }
  int64_t at(uint64_t index) const { return min + static_cast<int64_t>(index); }
};

/// So that sums, products and the number of pairs stay within 64 bits.
inline constexpr int64_t kLargestNumber = 1'000'000'000;

/// The options' range, with a task's own defaults. Error: empty, or beyond kLargestNumber.
Result<NumberRange> number_range(std::string_view task, const ProblemOptions& options, int64_t min,
                                 int64_t max);
/// Error: the option "count" is given to a task that has none.
Status no_count(std::string_view task, const ProblemOptions& options);

/// Each built-in task has a file of its own. Error: options out of range, or that the task does not have.
/// "What is a + b? Reply with the number only." Default 1 to 50: 2,500 problems.
Result<std::unique_ptr<Problems>> addition(const ProblemOptions& options);
/// "What is a * b? Reply with the number only." Default 2 to 20.
Result<std::unique_ptr<Problems>> multiplication(const ProblemOptions& options);
/// "Which number is larger, a or b? ..." Default 1 to 100, never equal.
Result<std::unique_ptr<Problems>> comparison(const ProblemOptions& options);
/// "Sort these numbers from smallest to largest: ..." Default 4 numbers from 1 to 99.
Result<std::unique_ptr<Problems>> sort_numbers(const ProblemOptions& options);
/// "How many times does the letter "x" occur in "..."?" Default words of 8 letters.
Result<std::unique_ptr<Problems>> count_letters(const ProblemOptions& options);

}  // namespace nereus::tasks
