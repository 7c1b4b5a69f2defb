#include <algorithm>

#include "nereus/tasks/problems.h"

namespace nereus::tasks {
namespace {

class Comparison final : public Problems {
 public:
  explicit Comparison(NumberRange range) : range_(range) {}

  uint64_t size() const override { return range_.size() * (range_.size() - 1); }

  Problem at(uint64_t index) const override {
    const uint64_t first = index / (range_.size() - 1), other = index % (range_.size() - 1);
    const int64_t a = range_.at(first), b = range_.at(other < first ? other : other + 1);  // never equal
    return {fmt::format("Which number is larger, {} or {}? Reply with the number only.", a, b),
            fmt::format("{}", std::max(a, b))};
  }

 private:
  NumberRange range_;
};

}  // namespace

Result<std::unique_ptr<Problems>> comparison(const ProblemOptions& options) {
  if (auto status = no_count("comparison", options); !status) return pass(status);
  const auto range = number_range("comparison", options, 1, 100);
  if (!range) return pass(range);
  if (range->size() < 2)
    return fail("task comparison: expected max above min, not {} and {}", range->max, range->min);
  return std::make_unique<Comparison>(*range);
}

}  // namespace nereus::tasks
