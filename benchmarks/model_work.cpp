// The work of scripts/bench that no command of nereus does alone: sampling after random prompts, and full
// fine-tuning on random tokens. Prints one JSON line a measurement. Threads: OMP_NUM_THREADS.
#include <ATen/ops/index_select.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/neg.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "nereus/base/random.h"
#include "nereus/cli/computing.h"
#include "nereus/generation/engine.h"
#include "nereus/ops/product.h"
#include "nereus/train/optimizer.h"
#include "nereus/train/packing.h"

namespace nereus {

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

rollout::Tokens random_tokens(RandomStream& random, int64_t count) {
  rollout::Tokens tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(100 + random.below(40000)));
  return tokens;
}

struct DecodeWork {
  std::string model, dtype = "f32";
  std::vector<int64_t> batches = {1, 8, 32, 64};
  int64_t prompt = 64, fresh = 64, rounds = 3;
};

/// One prompt a sequence, so that nothing is shared; every sequence runs to its full length.
Status submit_all(generation::Engine& engine, RandomStream& random, const DecodeWork& work, int64_t batch) {
  for (int64_t i = 0; i < batch; ++i) {
    rollout::Request request;
    request.prompt_id = static_cast<uint64_t>(i);
    request.prompt = random_tokens(random, work.prompt);
    request.sampling.max_new_tokens = static_cast<int32_t>(work.fresh);
    if (auto done = engine.submit(std::move(request)); !done) return done;
  }
  return {};
}

/// The prompts are computed until every sequence has its first token; the rest is decoding alone.
Status decode_once(generation::Engine& engine, RandomStream& random, const DecodeWork& work, int64_t batch) {
  const int64_t before = engine.stats().generated_tokens;
  const auto begin = std::chrono::steady_clock::now();
  if (auto done = submit_all(engine, random, work, batch); !done) return done;
  double first_tokens_s = 0;
  int64_t first_tokens = 0;
  while (!engine.idle()) {
    if (auto groups = engine.step(); !groups) return pass(groups);
    if (first_tokens == 0 && engine.stats().waiting == 0) {
      first_tokens = engine.stats().generated_tokens - before;
      first_tokens_s = seconds_since(begin);
    }
  }
  const double all_s = seconds_since(begin);
  const auto tokens = static_cast<double>(engine.stats().generated_tokens - before);
  fmt::print("{{\"batch\": {}, \"tokens_per_s\": {:.2f}, \"decode_tokens_per_s\": {:.2f}}}\n", batch,
             tokens / all_s, (tokens - static_cast<double>(first_tokens)) / (all_s - first_tokens_s));
  return {};
}

Status run_decode(const DecodeWork& work) {
  const auto element = work.dtype == "bf16" ? kernels::Element::bf16 : kernels::Element::f32;
  const auto source = checkpoint::Source::open(work.model);
  if (!source) return pass(source);
  const auto model = model::Transformer::load(*source, element);
  if (!model) return pass(model);
  RandomStream random(1, 0);
  for (const int64_t batch : work.batches) {
    generation::EngineOptions options;
    options.max_running = batch;
    options.prefill_tokens = batch * work.prompt;
    options.kv_element = element;
    generation::Engine engine(*model, options);
    for (int64_t round = 0; round < work.rounds; ++round)
      if (auto done = decode_once(engine, random, work, batch); !done) return done;
  }
  return {};
}

struct TrainWork {
  std::string model;
  int64_t batch = 8, length = 256, steps = 3;
};

/// Sequences that train `length` tokens each after a first one that is only read.
std::vector<train::PackedBatch> random_batch(const TrainWork& work, RandomStream& random) {
  std::vector<rollout::Group> groups(static_cast<size_t>(work.batch));
  std::vector<const rollout::Group*> pointers;
  std::vector<train::CompletionRef> completions;
  for (rollout::Group& group : groups) {
    group.prompt = random_tokens(random, 1);
    rollout::Completion completion;
    completion.tokens = random_tokens(random, work.length);
    completion.logprobs.resize(completion.tokens.size());
    group.completions.push_back(std::move(completion));
    completions.push_back({static_cast<int64_t>(pointers.size()), 0});
    pointers.push_back(&group);
  }
  return train::pack(pointers, completions, {.max_rows = work.batch * work.length});
}

void train_step(const model::Transformer& model, train::AdamW& optimizer, const train::PackedBatch& batch) {
  const spec::ModelConfig& config = model.config();
  const auto attention = std::make_shared<train::PackedAttention>(
      batch, ops::AttentionShape{config.heads, config.kv_heads, config.head_dim}, model.rope_frequencies());
  const at::Tensor hidden = model.hidden(batch.ids, attention);                 // [rows, hidden]
  const at::Tensor predicting = at::index_select(hidden, 0, batch.predicting);  // [tokens, hidden]
  at::neg(at::mean(model.chosen_logprob(predicting, batch.targets, {}).logprob)).backward();
  optimizer.step();
}

Status run_train(const TrainWork& work) {
  const auto source = checkpoint::Source::open(work.model);
  if (!source) return pass(source);
  auto model = model::Transformer::load(*source);
  if (!model) return pass(model);
  model->train_all();
  train::AdamW optimizer(model->parameters(), {.learning_rate = 1e-6});
  RandomStream random(1, 1);
  for (int64_t step = -1; step < work.steps; ++step) {  // the first warms up
    const auto batches = random_batch(work, random);
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& batch : batches) train_step(*model, optimizer, batch);
    if (step >= 0)
      fmt::print("{{\"tokens_per_s\": {:.2f}}}\n",
                 static_cast<double>(work.batch * work.length) / seconds_since(begin));
  }
  return {};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Measures the model's work for scripts/bench");
  app.require_subcommand(1);
  DecodeWork decode;
  auto* decode_app =
      app.add_subcommand("decode", "Tokens per second of sampling, with and without the prompts");
  decode_app->add_option("model", decode.model, "Hugging Face folder or .gguf file")->required();
  decode_app->add_option("--dtype", decode.dtype)->check(CLI::IsMember({"f32", "bf16"}));
  decode_app->add_option("--batch", decode.batches, "Numbers of sequences, with commas between")
      ->delimiter(',');
  decode_app->add_option("--prompt", decode.prompt, "Tokens of a prompt")->check(CLI::PositiveNumber);
  decode_app->add_option("--new", decode.fresh, "Tokens of a completion")->check(CLI::Range(2, 1 << 20));
  decode_app->add_option("--rounds", decode.rounds);
  TrainWork train;
  auto* train_app = app.add_subcommand("train", "Tokens per second of full fine-tuning in fp32");
  train_app->add_option("model", train.model, "Hugging Face folder or .gguf file")->required();
  train_app->add_option("--batch", train.batch)->check(CLI::PositiveNumber);
  train_app->add_option("--length", train.length)->check(CLI::PositiveNumber);
  train_app->add_option("--steps", train.steps);
  std::string precision = "high";
  app.add_option("--matmul-precision", precision)->check(CLI::IsMember({"highest", "high"}));
  CLI11_PARSE(app, argc, argv);
  if (precision == "high") ops::set_matmul_precision(kernels::Precision::high);
  const Status done = decode_app->parsed() ? run_decode(decode) : run_train(train);
  if (!done) fmt::print(stderr, "model_work: {}\n", done.error().message);
  return done ? 0 : 1;
}

}  // namespace nereus

int main(int argc, char** argv) {
  if (nereus::cli::spin_briefly()) ::execv("/proc/self/exe", argv);  // as nereus starts what computes
  return nereus::run(argc, argv);
}
