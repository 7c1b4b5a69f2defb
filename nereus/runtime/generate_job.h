#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/kernels/matrix.h"
#include "nereus/rollout/types.h"

namespace nereus::runtime {

struct GenerateCommand {
  std::filesystem::path model{};
  std::filesystem::path adapter{};  ///< PEFT folder; empty: none
  std::string prompt{};             ///< of one answer, streamed
  std::filesystem::path jsonl{};  ///< many prompts, "prompt" or "messages" on each line; instead of `prompt`
  std::string system{};
  bool raw = false;  ///< the prompt as it is, without the chat template
  bool bf16 = false;
  uint32_t completions = 1;  ///< of each prompt
  uint64_t seed = 0;
  int64_t max_running = 64;
  int64_t kv_memory_mb = 1024;
  int64_t threads = 0;
  kernels::Precision matmul_precision = kernels::Precision::high;
  rollout::SamplingOptions sampling{};
  std::vector<std::string> stop{};
};

/// Samples answers: one prompt is streamed to `out` as text; a JSON Lines file gives one line of JSON a
/// prompt, in order. Progress of many prompts goes to standard error.
Status generate(const GenerateCommand& command, std::ostream& out);

}  // namespace nereus::runtime
