#include <CLI/CLI.hpp>

#include "nereus/cli_compute/commands.h"

namespace nereus::cli_compute {

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
          "Products of f32 matrices: high takes each value as a sum of two bf16 values (16 significant bits) "
          "where the processor has AMX, which is faster; highest is fp32 everywhere")
      ->check(CLI::IsMember({"highest", "high"}))
      ->default_str("high");
}

}  // namespace nereus::cli_compute
