#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/runtime/generate_job.h"

namespace nereus::cli_compute {

namespace {

struct Options {
  runtime::GenerateCommand command;
  std::string output;
};

int run(Options& options) {
  if (options.command.prompt.empty() == options.command.jsonl.empty())
    return std::cerr << "nereus: error: generate: expected either PROMPT or --jsonl FILE\n", cli::kUsage;
  if (options.output.empty()) return cli::report(runtime::generate(options.command, std::cout));
  std::ofstream file(options.output);
  if (!file) return cli::report(fail("{}: cannot write", options.output));
  return cli::report(runtime::generate(options.command, file));
}

void add_sampling(CLI::App& generate, Options& options) {
  auto& sampling = options.command.sampling;
  generate.add_option("--temperature", sampling.temperature, "Divides the logits; 0: the most likely token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  generate.add_option("--top-k", sampling.top_k, "Among the k most likely tokens; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  generate.add_option("--top-p", sampling.top_p, "Among the fewest tokens whose mass reaches p; 1: all")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  generate
      .add_option("--min-p", sampling.min_p, "Among tokens this fraction as likely as the likeliest; 0: all")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  generate.add_option("--max-new-tokens", sampling.max_new_tokens, "Longest answer, in tokens")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  generate
      .add_option("--stop", options.command.stop, "Text that ends an answer (may be given several times)")
      ->option_text("TEXT")
      ->take_all();
  generate.add_option("--seed", options.command.seed, "Seed of the sampled tokens")->capture_default_str();
  generate.add_option("-n,--completions", options.command.completions, "Answers to each prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_machine(CLI::App& generate, Options& options) {
  auto& command = options.command;
  add_arithmetic(generate, command.bf16, command.matmul_precision);
  generate.add_option("--max-running", command.max_running, "Answers that are sampled at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  generate.add_option("--kv-memory-mb", command.kv_memory_mb, "Memory of the cache of keys and values, MiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  generate.add_option("--threads", command.threads, "Threads that compute; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void add_generate(CLI::App& app, cli::Action& action) {
  auto options = std::make_shared<Options>();
  auto& command = options->command;
  CLI::App* generate = app.add_subcommand(cli::kGenerate.name, cli::kGenerate.summary);
  generate->footer(
      "  nereus generate MODEL \"Name three rivers.\" --temperature 0\n"
      "  nereus generate MODEL \"What is 4 + 7?\" --adapter runs/addition/adapter -n 4\n"
      "  nereus generate MODEL --jsonl prompts.jsonl --output answers.jsonl\n\n"
      "A prompt is put into the model's chat template unless --raw is given. Each line of a JSON Lines file "
      "has\n"
      "\"prompt\" (a text, taken as it is) or \"messages\" (a chat).");
  generate->add_option("model", command.model, "Hugging Face folder or .gguf file")
      ->required()
      ->option_text("MODEL");
  generate->add_option("prompt", command.prompt, "Question to the model")->option_text("PROMPT");
  generate->add_option("--jsonl", command.jsonl, "File with many prompts")->option_text("FILE");
  generate->add_option("--output", options->output, "File for the answers instead of standard output")
      ->option_text("FILE");
  generate->add_option("--adapter", command.adapter, "PEFT folder of a LoRA adapter")->option_text("DIR");
  generate->add_option("--system", command.system, "System message before the prompt")->option_text("TEXT");
  generate->add_flag("--raw", command.raw, "Continue the prompt as it is, without the chat template");
  add_sampling(*generate, *options);
  add_machine(*generate, *options);
  generate->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace nereus::cli_compute
