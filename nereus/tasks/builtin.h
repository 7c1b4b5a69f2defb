#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nereus/base/result.h"
#include "nereus/tasks/dataset.h"
#include "nereus/tasks/problems.h"

namespace nereus::tasks {

/// The part of a built-in task that a data set holds; the two share no problem.
enum class Split : uint8_t { train, held_out };

struct BuiltinOptions {
  ProblemOptions problems;
  double held_out = 0.2;    ///< share of the problems kept for evaluation, between 0 and 1 (both excluded)
  uint64_t split_seed = 0;  ///< which problems those are; not the run's seed, so that runs stay comparable
};

/// Names that `open_builtin` takes: addition, multiplication, comparison, sort_numbers, count_letters.
std::span<const std::string_view> builtin_names();

/// A built-in task as a data set of chats with one user message and the column "answer" (a text), in a random
/// order. Error: unknown name (with the known ones), or bad options.
Result<std::unique_ptr<Dataset>> open_builtin(std::string_view name, const BuiltinOptions& options,
                                              Split split);

}  // namespace nereus::tasks
