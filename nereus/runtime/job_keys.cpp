#include "nereus/runtime/job_keys.h"

namespace nereus::runtime {

using config::above;
using config::at_least;
using config::between;
using config::KeyTable;

namespace {

void add_run(KeyTable<Job>& keys) {
  keys.add(
      "run.name", [](auto& job) -> auto& { return job.run.name; },
      "Name of the run's folder. Empty: that of the job file, without .toml.");
  keys.add(
      "run.folder", [](auto& job) -> auto& { return job.run.folder; }, "Folder that holds the runs.");
  keys.add(
      "run.steps", [](auto& job) -> auto& { return job.run.steps; }, "Policy updates.", at_least(1));
  keys.add(
      "run.seed", [](auto& job) -> auto& { return job.run.seed; },
      "Seed of everything drawn at random: order of the data, sampled tokens, new adapters.", at_least(0));
  keys.add(
      "run.threads", [](auto& job) -> auto& { return job.run.threads; },
      "Threads that compute. 0: as many as the process may use.", at_least(0));
  keys.choice(
      "run.matmul_precision", [](auto& job) -> auto& { return job.run.matmul_precision; },
      std::vector<std::pair<std::string, kernels::Precision>>{{"highest", kernels::Precision::highest},
                                                              {"high", kernels::Precision::high}},
      "Products of fp32 matrices: high takes each value as a sum of two bf16 values (16 significant bits) "
      "where the processor has AMX, which is faster; highest is fp32 everywhere.");
  keys.add(
      "run.checkpoint_every", [](auto& job) -> auto& { return job.run.checkpoint_every; },
      "Steps between checkpoints; the last step always has one. 0: only the last.", at_least(0));
  keys.add(
      "run.keep_checkpoints", [](auto& job) -> auto& { return job.run.keep_checkpoints; },
      "Newest checkpoints that are kept. 0: all.", at_least(0));
}

void add_model(KeyTable<Job>& keys) {
  keys.add(
      "model.path", [](auto& job) -> auto& { return job.model.path; },
      "The model: a Hugging Face folder or a .gguf file. Required.");
  keys.add(
      "model.adapter", [](auto& job) -> auto& { return job.model.adapter; },
      "PEFT folder of a LoRA adapter to start from. Empty: a new one, by [lora].");
}

void add_data(KeyTable<Job>& keys) {
  keys.add(
      "data.file", [](auto& job) -> auto& { return job.data.file; },
      "JSON Lines file of prompts. Either this or data.task.");
  keys.add(
      "data.task", [](auto& job) -> auto& { return job.data.task; },
      "Built-in task: addition, multiplication, comparison, sort_numbers, count_letters.");
  keys.add(
      "data.min", [](auto& job) -> auto& { return job.data.builtin.problems.min; },
      "Smallest number of a built-in task. Unset: the task's own.");
  keys.add(
      "data.max", [](auto& job) -> auto& { return job.data.builtin.problems.max; },
      "Largest number of a built-in task. Unset: the task's own.");
  keys.add(
      "data.count", [](auto& job) -> auto& { return job.data.builtin.problems.count; },
      "Numbers in a list, or letters in a word, of the built-in tasks that have them.", at_least(1));
  keys.add(
      "data.held_out", [](auto& job) -> auto& { return job.data.builtin.held_out; },
      "Share of a built-in task's problems that is kept for evaluation.", between(0.001, 0.999));
  keys.add(
      "data.split_seed", [](auto& job) -> auto& { return job.data.builtin.split_seed; },
      "Which problems those are. Not the run's seed, so that runs stay comparable.", at_least(0));
  keys.add(
      "data.system", [](auto& job) -> auto& { return job.data.system; },
      "System message put before every chat that has none.");
  keys.add(
      "data.prompts", [](auto& job) -> auto& { return job.data.prompts; }, "Prompts of a step.", at_least(1));
  keys.add(
      "data.shuffle", [](auto& job) -> auto& { return job.data.shuffle; },
      "Another order in each pass over the data. false: the order of the file.");
  keys.add(
      "data.max_prompt_tokens", [](auto& job) -> auto& { return job.data.max_prompt_tokens; },
      "Longest prompt. 0: what the model's context leaves beside generation.max_new_tokens.", at_least(0));
  keys.add(
      "data.skip_long_prompts", [](auto& job) -> auto& { return job.data.skip_long_prompts; },
      "Skip and count longer prompts. false: a longer prompt ends the run with an error.");
}

void add_generation(KeyTable<Job>& keys) {
  keys.add(
      "generation.completions", [](auto& job) -> auto& { return job.generation.completions; },
      "Completions of each prompt: the size of a group.", at_least(1));
  keys.add(
      "generation.max_new_tokens", [](auto& job) -> auto& { return job.generation.sampling.max_new_tokens; },
      "Longest completion, in tokens.", at_least(1));
  keys.add(
      "generation.temperature", [](auto& job) -> auto& { return job.generation.sampling.temperature; },
      "Divides the logits, in sampling and in training alike.", between(0.01, 100));
  keys.add(
      "generation.top_k", [](auto& job) -> auto& { return job.generation.sampling.top_k; },
      "Sample among the k most likely tokens. 0: all. Biases training.", at_least(0));
  keys.add(
      "generation.top_p", [](auto& job) -> auto& { return job.generation.sampling.top_p; },
      "Sample among the fewest tokens whose mass reaches p. 1: all. Biases training.", between(0.001, 1));
  keys.add(
      "generation.min_p", [](auto& job) -> auto& { return job.generation.sampling.min_p; },
      "Sample among tokens at least this fraction as likely as the likeliest. 0: all. Biases training.",
      between(0, 1));
  keys.add(
      "generation.stop", [](auto& job) -> auto& { return job.generation.stop; },
      "Texts that end a completion, besides the model's end-of-sequence tokens.");
  keys.add(
      "generation.max_running", [](auto& job) -> auto& { return job.generation.max_running; },
      "Completions that are sampled at once.", at_least(1));
  keys.add(
      "generation.kv_memory_mb", [](auto& job) -> auto& { return job.generation.kv_memory_mb; },
      "Memory of the cache of keys and values, in MiB.", at_least(1));
  keys.choice(
      "generation.dtype", [](auto& job) -> auto& { return job.generation.dtype; },
      std::vector<std::pair<std::string, kernels::Element>>{{"f32", kernels::Element::f32},
                                                            {"bf16", kernels::Element::bf16}},
      "Arithmetic of sampling: f32 equals training; bf16 is faster on processors that have it.");
}

void add_async(KeyTable<Job>& keys) {
  keys.add(
      "async.enabled", [](auto& job) -> auto& { return job.async.enabled; },
      "Sample beside training instead of in turn with it. Needs lora.enabled.");
  keys.add(
      "async.max_staleness", [](auto& job) -> auto& { return job.async.max_staleness; },
      "Most steps by which the policy that sampled a group may lag behind the one that it trains. Groups "
      "beyond "
      "it are dropped, counted and sampled again. 0: on-policy.",
      between(0, 1000));
  keys.add(
      "async.sync_steps", [](auto& job) -> auto& { return job.async.sync_steps; },
      "Steps between new policies of the sampler; at most max_staleness + 1.", at_least(1));
  keys.add(
      "async.sampler_threads", [](auto& job) -> auto& { return job.async.sampler_threads; },
      "Threads, of run.threads, that sample; the others train. 0: half.", at_least(0));
  keys.add(
      "async.stall_seconds", [](auto& job) -> auto& { return job.async.stall_seconds; },
      "When training has waited so long for completions, a warning says what it waits for. At the start, how "
      "long "
      "a server may take to be there.",
      above(0));
  keys.add(
      "async.server", [](auto& job) -> auto& { return job.async.server; },
      "URL of `nereus serve`, or of `nereus proxy` before several, that samples; its bearer token is in the "
      "environment as NEREUS_TOKEN. Empty: this process samples.");
  keys.add(
      "async.bucket", [](auto& job) -> auto& { return job.async.bucket; },
      "Folder through which new policies reach the servers, which must see it under the same path. Empty: "
      "bucket/ "
      "in the run's folder.");
}

void add_eval(KeyTable<Job>& keys) {
  keys.add(
      "eval.every", [](auto& job) -> auto& { return job.eval.every; },
      "Steps between evaluations on held-out prompts during training. 0: none.", at_least(0));
  keys.add(
      "eval.at_start", [](auto& job) -> auto& { return job.eval.at_start; },
      "Evaluate before the first step too, where eval.every is not 0.");
  keys.add(
      "eval.samples", [](auto& job) -> auto& { return job.eval.samples; },
      "Held-out prompts of an evaluation. 0: all.", at_least(0));
  keys.add(
      "eval.file", [](auto& job) -> auto& { return job.eval.file; },
      "JSON Lines file of held-out prompts, needed where the data are a file.");
  keys.add(
      "eval.temperature", [](auto& job) -> auto& { return job.eval.temperature; },
      "Temperature of the evaluated answers. 0: the most likely token each time.", between(0, 100));
}

}  // namespace

KeyTable<Job> job_keys() {
  KeyTable<Job> keys;
  add_run(keys);
  add_model(keys);
  add_data(keys);
  add_generation(keys);
  add_training_keys(keys);
  add_async(keys);
  add_eval(keys);
  return keys;
}

KeyTable<RewardSection> reward_keys() {
  KeyTable<RewardSection> keys;
  std::vector<std::pair<std::string, std::string>> kinds;
  for (const auto kind : tasks::reward_kinds()) kinds.emplace_back(kind, kind);
  keys.choice(
      "reward.kind", [](auto& reward) -> auto& { return reward.options.kind; }, kinds,
      "What decides: a match with a column, a pattern, or a command of yours.");
  keys.add(
      "reward.name", [](auto& reward) -> auto& { return reward.options.name; },
      "Name in the metrics. Empty: the kind.");
  keys.add(
      "reward.weight", [](auto& reward) -> auto& { return reward.options.weight; },
      "Weight in the sum of all rewards.", between(-1e6, 1e6));
  keys.add(
      "reward.column", [](auto& reward) -> auto& { return reward.options.column; },
      "Column of the data that holds the expected answer (exact_match, number_match).");
  keys.add(
      "reward.pattern", [](auto& reward) -> auto& { return reward.options.pattern; },
      "Regular expression (PCRE2) of regex; {column} stands for that column's text.");
  keys.add(
      "reward.command", [](auto& reward) -> auto& { return reward.options.command.command; },
      "Program and arguments of command; docs/tasks.md has the protocol.");
  keys.add(
      "reward.folder", [](auto& reward) -> auto& { return reward.folder; },
      "Folder in which the command runs. Empty: that of the job file.");
  keys.add(
      "reward.timeout_s", [](auto& reward) -> auto& { return reward.options.command.timeout_s; },
      "Seconds that one call of the command for a whole step may take.", above(0));
  keys.add(
      "reward.retries", [](auto& reward) -> auto& { return reward.options.command.retries; },
      "Times that a command which died is started again within one call.", between(0, 100));
  keys.add(
      "reward.error_log", [](auto& reward) -> auto& { return reward.options.command.error_log; },
      "File to which the command's standard error is appended. Empty: it is shown in errors alone.");
  keys.choice(
      "reward.on_error", [](auto& reward) -> auto& { return reward.options.command.on_error; },
      std::vector<std::pair<std::string, tasks::OnError>>{{"stop", tasks::OnError::stop},
                                                          {"absent", tasks::OnError::absent}},
      "A command that fails ends the run, or leaves the completions without a reward.");
  return keys;
}

config::Schema<Job> job_schema() {
  config::Schema<Job> schema(job_keys(), "docs/configuration.md");
  schema.add_list(
      "reward", reward_keys(), [](auto& job) -> auto& { return job.rewards; });
  return schema;
}

}  // namespace nereus::runtime
