#include <algorithm>
#include <vector>

#include "nereus/tasks/problems.h"

namespace nereus::tasks {
namespace {

constexpr uint64_t kMostProblems = uint64_t{1} << 62;

class SortNumbers final : public Problems {
 public:
  SortNumbers(NumberRange range, size_t count, uint64_t size) : range_(range), count_(count), size_(size) {}

  uint64_t size() const override { return size_; }

  /// The digits of `index` in a system with one digit for each number of the range.
  Problem at(uint64_t index) const override {
    std::vector<int64_t> numbers(count_);
    for (int64_t& number : numbers) {
      number = range_.at(index % range_.size());
      index /= range_.size();
    }
    const std::string question = fmt::format(
        "Sort these numbers from smallest to largest: {}. Reply with the numbers only, separated by commas.",
        fmt::join(numbers, ", "));
    std::ranges::sort(numbers);
    return {question, fmt::format("{}", fmt::join(numbers, ", "))};
  }

 private:
  NumberRange range_;
  size_t count_;
  uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<Problems>> sort_numbers(const ProblemOptions& options) {
  const auto range = number_range("sort_numbers", options, 1, 99);
  if (!range) return pass(range);
  const int64_t count = options.count.value_or(4);
  if (count < 2 || count > 32) return fail("task sort_numbers: expected count from 2 to 32, not {}", count);
  uint64_t size = 1;
  for (int64_t i = 0; i < count; ++i) {
    if (size > kMostProblems / range->size())
      return fail("task sort_numbers: {} numbers from {} to {} make more than 2^62 problems; expected fewer",
                  count, range->min, range->max);
    size *= range->size();
  }
  return std::make_unique<SortNumbers>(*range, static_cast<size_t>(count), size);
}

}  // namespace nereus::tasks
