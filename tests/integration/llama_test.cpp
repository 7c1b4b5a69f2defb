// llama.cpp's servers behind `nereus proxy`. Skipped where scripts/setup --peers has not installed them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nereus/base/result.h"
#include "tests/integration/command.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::integration {
namespace {

using ::testing::HasSubstr;

const std::string kDeps = NEREUS_SOURCE_DIR "/.deps";
const std::string kPython = kDeps + "/peers/python/bin/python";
const std::string kModel = kDeps + "/models/SmolLM2-135M-Instruct-bf16.gguf";

/// What llama_proxy.py says of two such servers behind the proxy.
std::string ask_through_proxy(const std::string& server) {
  const runtime::ScratchFolder scratch;
  return output_of(fmt::format("{} {}/tests/integration/llama_proxy.py {}/nereus {} {} {}", kPython,
                               NEREUS_SOURCE_DIR, NEREUS_BINARY_DIR, server, kModel,
                               scratch.path().string()));
}

bool can_ask() {
  return std::filesystem::exists(kModel) && output_of(kPython + " -c 'import openai; print(1)'") == "1\n";
}

TEST(LlamaBehindProxy, LlamaCppPythonsServer) {
  if (!can_ask() || !output_of(kPython + " -c 'import llama_cpp.server.app; print(1)'").ends_with("1\n"))
    GTEST_SKIP() << "no llama-cpp-python with its server: scripts/setup --peers installs it";
  EXPECT_THAT(ask_through_proxy("llama-cpp-python"), HasSubstr("all held"));
}

TEST(LlamaBehindProxy, LlamaServer) {
  const std::string server = kDeps + "/peers/llama.cpp/build/bin/llama-server";
  if (!can_ask() || !std::filesystem::exists(server))
    GTEST_SKIP() << "no " << server << ": scripts/setup --peers installs it";
  EXPECT_THAT(ask_through_proxy(server), HasSubstr("all held"));
}

}  // namespace
}  // namespace nereus::integration
