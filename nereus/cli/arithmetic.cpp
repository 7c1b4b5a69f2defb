#include <CLI/CLI.hpp>

#include "nereus/cli/commands.h"

namespace nereus::cli {

void add_arithmetic(CLI::App& command, bool& bf16, kernels::Precision& matmul_precision) {
  command
      .add_option_function<std::string>(
          "--dtype", [&bf16](const std::string& dtype) { bf16 = dtype == "bf16"; },
          "Arithmetic: f32, or bf16 where the processor has it")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->default_str("f32");
  command
      .add_option_function<std::string>(
          "--matmul-precision",
          [&matmul_precision](const std::string& name) {
            matmul_precision = name == "high" ? kernels::Precision::high : kernels::Precision::highest;
          },
          "Products of many rows in f32: highest is fp32; high is faster on processors with AMX and as exact "
          "as 16 significant bits")
      ->check(CLI::IsMember({"highest", "high"}))
      ->default_str("highest");
}

}  // namespace nereus::cli
