#include "nereus/tasks/problems.h"

namespace nereus::tasks {

Result<NumberRange> number_range(std::string_view task, const ProblemOptions& options, int64_t min,
                                 int64_t max) {
  const NumberRange range{options.min.value_or(min), options.max.value_or(max)};
  if (range.max < range.min) return fail("task {}: min is {}, above max, {}", task, range.min, range.max);
  if (range.min < -kLargestNumber || range.max > kLargestNumber)
    return fail("task {}: expected min and max within ±{}, not {} and {}", task, kLargestNumber, range.min,
                range.max);
  return range;
}

Status no_count(std::string_view task, const ProblemOptions& options) {
  if (options.count) return fail("task {}: has no option \"count\"", task);
  return {};
}

}  // namespace nereus::tasks
