#include "nereus/tasks/builtin.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "nereus/tasks/permutation.h"

namespace nereus::tasks {
namespace {

constexpr std::array<std::string_view, 5> kTaskNames = {"addition", "multiplication", "comparison",
                                                        "sort_numbers", "count_letters"};

constexpr uint64_t kSplitStream = ~uint64_t{0};  // no epoch of a run has this number

/// One part of a task's problems: those at places [first, first + size) of a random order.
class BuiltinDataset final : public Dataset {
 public:
  BuiltinDataset(std::string name, std::unique_ptr<Problems> problems, uint64_t split_seed, uint64_t first,
                 uint64_t size)
      : name_(std::move(name)),
        problems_(std::move(problems)),
        order_(problems_->size(), split_seed, kSplitStream),
        first_(first),
        size_(size) {}

  uint64_t size() const override { return size_; }

  Result<Sample> at(uint64_t index) const override {
    const Problem problem = problems_->at(order_(first_ + index));
    return Sample{.id = index,
                  .source = fmt::format("{} problem {}", name_, index),
                  .prompt = OrderedJson::array({{{"role", "user"}, {"content", problem.question}}}),
                  .columns = {{"answer", problem.answer}}};
  }

  std::string description() const override { return fmt::format("{} ({} problems)", name_, size_); }

 private:
  std::string name_;
  std::unique_ptr<Problems> problems_;
  Permutation order_;
  uint64_t first_, size_;
};

Result<std::unique_ptr<Problems>> make_problems(std::string_view name, const ProblemOptions& options) {
  if (name == "addition") return addition(options);
  if (name == "multiplication") return multiplication(options);
  if (name == "comparison") return comparison(options);
  if (name == "sort_numbers") return sort_numbers(options);
  if (name == "count_letters") return count_letters(options);
  return fail("unknown task \"{}\"; expected one of {}", name, fmt::join(kTaskNames, ", "));
}

}  // namespace

std::span<const std::string_view> builtin_names() {
  return kTaskNames;
}

Result<std::unique_ptr<Dataset>> open_builtin(std::string_view name, const BuiltinOptions& options,
                                              Split split) {
  auto problems = make_problems(name, options.problems);
  if (!problems) return pass(problems);
  if (!(options.held_out > 0 && options.held_out < 1))
    return fail("task {}: expected held_out between 0 and 1, both excluded, not {}", name, options.held_out);
  const uint64_t all = (*problems)->size();
  if (all < 2)
    return fail("task {}: has {} problem; two are needed, one for training and one held out", name, all);
  const auto share = static_cast<uint64_t>(std::llround(static_cast<double>(all) * options.held_out));
  const uint64_t held_out = std::clamp<uint64_t>(share, 1, all - 1);
  const bool train = split == Split::train;
  return std::make_unique<BuiltinDataset>(fmt::format("{} {}", name, train ? "train" : "held-out"),
                                          std::move(*problems), options.split_seed, train ? held_out : 0,
                                          train ? all - held_out : held_out);
}

}  // namespace nereus::tasks
