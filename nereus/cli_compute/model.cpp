#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "nereus/cli_compute/commands.h"
#include "nereus/runtime/model_jobs.h"

namespace nereus::cli_compute {

namespace {

const auto kDtypes = {"f32", "bf16", "f16"};

void add_init(CLI::App& model, cli::Action& action) {
  auto shared = std::make_shared<runtime::InitCommand>();
  auto& command = *shared;
  CLI::App* init = model.add_subcommand("init", "Write a small model with random weights");
  init->footer("  nereus model init tiny --tokenizer-from MODEL --hidden 64 --layers 2");
  init->add_option("folder", command.folder, "Folder of the new model")->required()->option_text("FOLDER");
  init->add_option("--tokenizer-from", command.tokenizer_from, "Model whose tokenizer it takes over")
      ->required()
      ->option_text("MODEL");
  init->add_option("--hidden", command.hidden, "Size of the hidden state")->capture_default_str();
  init->add_option("--intermediate", command.intermediate, "Size inside the MLP")->capture_default_str();
  init->add_option("--layers", command.layers, "Layers")->capture_default_str();
  init->add_option("--heads", command.heads, "Attention heads")->capture_default_str();
  init->add_option("--kv-heads", command.kv_heads, "Heads of keys and values")->capture_default_str();
  init->add_option("--context", command.context, "Longest sequence, in tokens")->capture_default_str();
  init->add_flag("--untied", command.untied, "A head of its own instead of the embedding");
  init->add_option("--seed", command.seed, "Seed of the weights")->capture_default_str();
  init->add_option("--dtype", command.dtype, "Type of the weights")
      ->check(CLI::IsMember(kDtypes))
      ->capture_default_str();
  init->callback(
      [shared, &action] { action = [shared] { return cli::report(runtime::init_model(*shared)); }; });
}

void add_convert(CLI::App& model, cli::Action& action) {
  auto shared = std::make_shared<runtime::ConvertCommand>();
  auto& command = *shared;
  CLI::App* convert = model.add_subcommand("convert", "Write a model as a Hugging Face folder");
  convert->footer("  nereus model convert model.Q4_1.gguf model-hf --dtype bf16");
  convert->add_option("model", command.from, "Hugging Face folder or .gguf file")
      ->required()
      ->option_text("MODEL");
  convert->add_option("folder", command.to, "Folder to be written")->required()->option_text("FOLDER");
  convert->add_option("--dtype", command.dtype, "Type of the weights")
      ->check(CLI::IsMember(kDtypes))
      ->capture_default_str();
  convert->callback(
      [shared, &action] { action = [shared] { return cli::report(runtime::convert_model(*shared)); }; });
}

void add_merge(CLI::App& model, cli::Action& action) {
  auto shared = std::make_shared<runtime::ConvertCommand>();
  auto& command = *shared;
  CLI::App* merge =
      model.add_subcommand("merge", "Write a model with a LoRA adapter merged into its weights");
  merge->footer("  nereus model merge MODEL runs/addition/adapter merged");
  merge->add_option("model", command.from, "Hugging Face folder or .gguf file")
      ->required()
      ->option_text("MODEL");
  merge->add_option("adapter", command.adapter, "PEFT folder of the adapter")
      ->required()
      ->option_text("ADAPTER");
  merge->add_option("folder", command.to, "Folder to be written")->required()->option_text("FOLDER");
  merge->add_option("--dtype", command.dtype, "Type of the weights")
      ->check(CLI::IsMember(kDtypes))
      ->capture_default_str();
  merge->callback(
      [shared, &action] { action = [shared] { return cli::report(runtime::convert_model(*shared)); }; });
}

void add_inspect(CLI::App& model, cli::Action& action) {
  auto shared = std::make_shared<runtime::InspectCommand>();
  auto& command = *shared;
  CLI::App* inspect = model.add_subcommand("inspect", "Show what a checkpoint or an adapter holds");
  inspect->footer("  nereus model inspect model.gguf --tensors");
  inspect->add_option("path", command.path, "Hugging Face folder, adapter folder, .gguf or .safetensors file")
      ->required()
      ->option_text("PATH");
  inspect->add_flag("--tensors", command.tensors, "List every tensor");
  inspect->add_flag("--json", command.json, "Print JSON");
  inspect->callback([shared, &action] {
    action = [shared] { return cli::report(runtime::inspect_model(*shared, std::cout)); };
  });
}

}  // namespace

void add_model(CLI::App& app, cli::Action& action) {
  CLI::App* model = app.add_subcommand(cli::kModel.name, cli::kModel.summary);
  model->require_subcommand(1);
  add_init(*model, action);
  add_convert(*model, action);
  add_merge(*model, action);
  add_inspect(*model, action);
}

}  // namespace nereus::cli_compute
