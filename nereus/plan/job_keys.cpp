#include "nereus/config/reference.h"
#include "nereus/plan/job_file.h"

namespace nereus::plan {

namespace {

using config::above;
using config::at_least;
using config::between;
using Keys = config::KeyTable<JobSections>;

constexpr double kMostTokens = 1 << 24, kMostSamples = 1 << 24;

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

void add_sizes(Keys& keys) {
  keys.choice(
      "job.algorithm", [](auto& s) -> auto& { return s.algorithm; },
      Choices<Algorithm>{{"grpo", Algorithm::grpo}, {"ppo", Algorithm::ppo}},
      "grpo compares the completions of a prompt; ppo trains a critic, which [critic] names.");
  keys.add(
      "job.prompts", [](auto& s) -> auto& { return s.job.prompts; }, "Prompts of a step.",
      between(1, kMostSamples));
  keys.add(
      "job.completions", [](auto& s) -> auto& { return s.job.completions; }, "Completions of each prompt.",
      between(1, 65536));
  keys.add(
      "job.minibatches", [](auto& s) -> auto& { return s.job.minibatches; },
      "Optimizer steps that the completions of a step are divided into.", at_least(1));
  keys.add(
      "job.epochs", [](auto& s) -> auto& { return s.job.epochs; }, "Passes over the completions of a step.",
      at_least(1));
  keys.add(
      "job.asynchronous", [](auto& s) -> auto& { return s.job.asynchronous; },
      "Generate the next step's completions while this step trains, where both have devices of their own.");
}

void add_memory(Keys& keys) {
  keys.choice(
      "job.dtype", [](auto& s) -> auto& { return s.job.weight_bytes; },
      Choices<double>{{"bf16", 2}, {"f32", 4}}, "Type of weights and activations.");
  keys.choice(
      "job.gradient_dtype", [](auto& s) -> auto& { return s.job.gradient_bytes; },
      Choices<double>{{"f32", 4}, {"bf16", 2}}, "Type in which gradients are summed.");
  keys.add(
      "job.logit_chunk", [](auto& s) -> auto& { return s.job.logit_chunk; },
      "Tokens whose logits exist at once. 0: those of a whole micro-batch.", between(0, kMostTokens));
  keys.add(
      "job.utilization", [](auto& s) -> auto& { return s.job.utilization; },
      "Share of a device's memory that a plan may fill; the rest is left to fragments.", between(0.1, 1));
  keys.add(
      "job.reward_seconds", [](auto& s) -> auto& { return s.job.reward_seconds; },
      "Seconds of a step for rewards outside the models: programs and services.", at_least(0));
}

void add_models(Keys& keys) {
  const std::string takes = "A known name, or a Hugging Face config.json or its folder.";
  keys.add(
      "actor.model", [](auto& s) -> auto& { return s.actor.model; }, "The policy. " + takes + " Required.");
  keys.add(
      "actor.lora_rank", [](auto& s) -> auto& { return s.actor.lora_rank; },
      "Rank of an adapter on all linear layers, which alone is trained. 0: all weights are.",
      between(0, 4096));
  keys.add(
      "critic.model", [](auto& s) -> auto& { return s.critic.model; },
      "The value model of ppo, with one value a token for a head. " + takes);
  keys.add(
      "critic.lora_rank", [](auto& s) -> auto& { return s.critic.lora_rank; }, "As actor.lora_rank.",
      between(0, 4096));
  keys.add(
      "reference.model", [](auto& s) -> auto& { return s.reference.model; },
      "The model that a KL is taken to. Empty: none. " + takes);
  keys.add(
      "reward.model", [](auto& s) -> auto& { return s.reward.model; },
      "The reward model. Empty: rewards come from elsewhere, as job.reward_seconds says. " + takes);
}

void add_lengths(Keys& keys) {
  keys.add(
      "lengths.prompt", [](auto& s) -> auto& { return s.lengths.prompt; }, "Mean of the prompts.",
      between(1, kMostTokens));
  keys.add(
      "lengths.mean_response", [](auto& s) -> auto& { return s.lengths.mean_response; },
      "Mean of the responses. Unset: that of the file; without one 1024, or half the limit where that is "
      "less. A file's lengths are scaled to it.",
      between(1, kMostTokens));
  keys.add(
      "lengths.variation", [](auto& s) -> auto& { return s.lengths.variation; },
      "Standard deviation over mean of the responses, a lognormal. Unset: 0.8. Not with a file.",
      between(0, 100));
  keys.add(
      "lengths.max_response", [](auto& s) -> auto& { return s.lengths.max_response; },
      "Limit of the responses, for which memory has to suffice; longer ones are cut.",
      between(1, kMostTokens));
  keys.add(
      "lengths.file", [](auto& s) -> auto& { return s.lengths.file; },
      "Text file with one observed response length a line. Empty: a lognormal.");
}

Keys all_keys() {
  Keys keys;
  add_sizes(keys);
  add_memory(keys);
  add_models(keys);
  add_lengths(keys);
  return keys;
}

}  // namespace

config::Schema<JobSections> job_schema() {
  return {all_keys(), "docs/cluster-files.md"};
}

std::string job_reference() {
  return config::reference_tables(all_keys(), JobSections{}, "`[{}]`");
}

}  // namespace nereus::plan
