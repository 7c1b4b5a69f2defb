#pragma once

#include <string>
#include <vector>

#include "nereus/plan/time.h"

namespace nereus::plan {

/// A part of a step: when it runs, in seconds from the step's begin.
struct Span {
  std::string what;              ///< "actor train", "rewards", "weight sync"
  std::vector<int32_t> devices;  ///< ascending; empty: outside the devices
  double begin = 0, end = 0;
};

/// When each stage of a step runs: after the stages that it needs (all wait for generation, training for all
/// inference and the rewards, weight sync for training) and after those before it on the same devices. With
/// asynchronous generation the rest works on completions of the step before, and does not wait.
std::vector<Span> timeline(const Job& job, const Plan& plan, const StepTime& time);

}  // namespace nereus::plan
