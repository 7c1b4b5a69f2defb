#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/model/transformer.h"

namespace nereus::train {

enum class Schedule : uint8_t { constant, cosine, linear };

struct OptimizerOptions {
  double learning_rate = 1e-5;
  Schedule schedule =
      Schedule::constant;    ///< after warm-up: constant, or falling to min_ratio at total_steps
  int64_t warmup_steps = 0;  ///< linear from 0
  int64_t total_steps = 0;   ///< optimizer steps of the run; used by cosine and linear
  double min_ratio = 0.0;    ///< of the learning rate at the end
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
  double max_grad_norm = 1.0;  ///< 0: no clipping
};

/// Learning rate of optimizer step `step` (0: the first).
double learning_rate(const OptimizerOptions& options, int64_t step);

/// AdamW (Loshchilov & Hutter 2019) with fp32 weights, moments and gradients, and clipping by global norm.
/// Not thread-safe.
class AdamW {
 public:
  AdamW(std::vector<model::Parameter> parameters, OptimizerOptions options);

  struct Outcome {
    double grad_norm = 0;  ///< before clipping
    double lr = 0;
    bool skipped = false;  ///< the gradient was not finite: nothing changed
  };
  /// Applies the parameters' gradients and clears them.
  Outcome step();
  void zero_grad();

  int64_t steps() const { return steps_; }
  /// Moments under "NAME.m", "NAME.v", and parameters under "NAME": views.
  std::vector<checkpoint::NamedTensor> state() const;
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  double grad_norm() const;

  std::vector<model::Parameter> parameters_;
  OptimizerOptions options_;
  std::vector<at::Tensor> m_, v_;
  int64_t steps_ = 0;
};

}  // namespace nereus::train
