#include "nereus/tasks/problems.h"

namespace nereus::tasks {
namespace {

class Multiplication final : public Problems {
 public:
  explicit Multiplication(NumberRange range) : range_(range) {}

  uint64_t size() const override { return range_.size() * range_.size(); }

  Problem at(uint64_t index) const override {
    const int64_t a = range_.at(index / range_.size()), b = range_.at(index % range_.size());
    return {fmt::format("What is {} * {}? Reply with the number only.", a, b), fmt::format("{}", a * b)};
  }

 private:
  NumberRange range_;
};

}  // namespace

Result<std::unique_ptr<Problems>> multiplication(const ProblemOptions& options) {
  if (auto status = no_count("multiplication", options); !status) return pass(status);
  const auto range = number_range("multiplication", options, 2, 20);
  if (!range) return pass(range);
  return std::make_unique<Multiplication>(*range);
}

}  // namespace nereus::tasks
