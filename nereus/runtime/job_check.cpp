#include "nereus/runtime/job_check.h"

namespace nereus::runtime {

namespace {

Status check_run(const Job& job) {
  const auto& name = job.run.name;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    return fail("run.name: expected the name of a folder, found \"{}\"", name);
  if (job.model.path.empty())
    return fail("model.path is missing: expected a Hugging Face folder or a .gguf file");
  if (!job.lora.enabled && !job.model.adapter.empty())
    return fail("model.adapter needs lora.enabled = true: full fine-tuning has no adapter");
  return {};
}

Status check_data(const Job& job) {
  if (job.data.file.empty() == job.data.task.empty())
    return fail("[data]: expected either file or task, found {}", job.data.file.empty() ? "neither" : "both");
  if (job.eval.every > 0 && job.data.task.empty() && job.eval.file.empty())
    return fail("eval.every = {} needs eval.file: data.file has no held-out part", job.eval.every);
  if (job.rewards.empty()) return fail("expected at least one [[reward]]");
  return {};
}

Status check_training(const Job& job) {
  if (job.train.minibatches > job.data.prompts)
    return fail("train.minibatches = {} is more than the groups of a step (data.prompts = {})",
                job.train.minibatches, job.data.prompts);
  if (job.lora.enabled && job.lora.options.target_modules.empty())
    return fail("lora.target_modules: expected at least one linear layer, such as \"q_proj\"");
  if (job.generation.completions < 2)
    return fail(
        "generation.completions: expected at least 2, found {}: advantages compare the completions of a "
        "prompt",
        job.generation.completions);
  const auto options = trainer_options(job);
  if (auto status = rl::validate(options.advantages, job.generation.completions, job.rewards.size()); !status)
    return status;
  return rl::validate(options.loss);
}

Status check_async(const Job& job) {
  if (!job.async.enabled && !job.async.server.empty())
    return fail(
        "async.server = \"{}\" needs async.enabled = true; with async.max_staleness = 0 sampling and "
        "training take turns",
        job.async.server);
  if (!job.async.enabled) return {};
  if (!job.lora.enabled)
    return fail("async.enabled = true needs lora.enabled = true: new policies reach the sampler as adapters");
  if (job.async.sync_steps > job.async.max_staleness + 1)
    return fail(
        "async.sync_steps = {} is more than async.max_staleness + 1 = {}: the sampler's policy would be "
        "too old to go on",
        job.async.sync_steps, job.async.max_staleness + 1);
  return {};
}

}  // namespace

Status check_job(const Job& job) {
  if (auto status = check_run(job); !status) return status;
  if (auto status = check_data(job); !status) return status;
  if (auto status = check_async(job); !status) return status;
  return check_training(job);
}

}  // namespace nereus::runtime
