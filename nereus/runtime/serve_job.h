#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/http/server.h"
#include "nereus/kernels/matrix.h"

namespace nereus::runtime {

struct ServeCommand {
  std::filesystem::path model{};
  std::string name{};  ///< as clients name the model; empty: the file's or folder's name
  std::vector<std::pair<std::string, std::filesystem::path>> adapters{};  ///< loaded before the first request
  std::filesystem::path adapter_root{};  ///< clients may load adapters from within it only; empty: anywhere
  int64_t adapter_slots = 8;
  int64_t max_requests = 1024;  ///< that run or wait; more get 429
  int64_t max_running = 64;     ///< completions that decode at once
  double burst_ms = 5;  ///< an idle server waits a fifth of it for one more request, and so long in all
  int64_t prefill_tokens = 512;  ///< prompt tokens of a step; a longer prompt takes several
  int64_t kv_memory_mb = 1024;
  bool prefix_cache = true;  ///< prompts that begin alike, or go on from an answer, share keys and values
  bool bf16 = false;
  int64_t threads = 0;
  kernels::Precision matmul_precision = kernels::Precision::high;
  uint64_t seed = 0;  ///< of requests without one
  http::ServerOptions server{};
  double grace_seconds = 30;  ///< for running requests, after Ctrl-C
};

/// Serves a model by OpenAI's API until Ctrl-C or SIGTERM. Prints the address to `out` when it is ready.
Status serve(const ServeCommand& command, std::ostream& out);

}  // namespace nereus::runtime
