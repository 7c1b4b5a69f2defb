#include "nereus/runtime/job.h"

namespace nereus::runtime {

train::TrainerOptions trainer_options(const Job& job) {
  train::TrainerOptions options = job.train;
  options.advantages.reward_weights.clear();
  for (const auto& reward : job.rewards) options.advantages.reward_weights.push_back(reward.options.weight);
  options.loss.correction = rl::usual_correction(job.grpo.correction);
  if (job.grpo.correction_min) options.loss.correction.min = job.grpo.correction_min;
  if (job.grpo.correction_max) options.loss.correction.max = job.grpo.correction_max;
  options.optimizer.total_steps = job.run.steps * options.minibatches * options.epochs;
  options.max_completion_length = job.generation.sampling.max_new_tokens;
  options.temperature = job.generation.sampling.temperature;
  if (job.async.enabled) options.kept_policies = job.async.max_staleness + 1;
  if (job.grpo.entropy_target) {
    options.entropy_control.emplace();
    options.entropy_control->target = *job.grpo.entropy_target;
  }
  return options;
}

generation::EngineOptions engine_options(const Job& job) {
  generation::EngineOptions options;
  options.max_running = job.generation.max_running;
  options.kv_bytes = job.generation.kv_memory_mb << 20;
  options.kv_element = job.generation.dtype;
  return options;
}

}  // namespace nereus::runtime
