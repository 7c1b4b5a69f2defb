// What others' programs make of `nereus serve`. Skipped where scripts/setup --peers has not installed them.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/integration/processes.h"

namespace nereus::integration {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* kPython = NEREUS_SOURCE_DIR "/.deps/peers/python/bin/python";

bool python_has(const std::string& module) {
  return output_of(fmt::format("{} -c 'import {}; print(1)'", kPython, module)).ends_with("1\n");
}

std::string script(const std::string& name) {
  return fmt::format("HF_HUB_OFFLINE=1 {} {}/tests/integration/{}", kPython, NEREUS_SOURCE_DIR, name);
}

class ServePeers : public Processes {};

TEST_F(ServePeers, OpenAisOwnClient) {
  if (!python_has("openai")) GTEST_SKIP() << "no openai client: scripts/setup --peers installs it";
  setenv("TOKEN_OF_THE_TEST", "let-me-in", 1);
  const Server server = start("server", {"serve", (scratch_.path() / "tiny").string(), "--port", "0",
                                         "--threads", "1", "--token-env", "TOKEN_OF_THE_TEST"});
  EXPECT_THAT(output_of(fmt::format("{} {} let-me-in", script("openai_client.py"), server.url)),
              HasSubstr("all held"));
}

// Adapters of PEFT give PEFT's log-probs here, and PEFT loads the ones that a run published.
TEST_F(ServePeers, PeftsAdaptersAndOurs) {
  // Fault 18: PEFT key names break loading [trl 2698].
  if (!python_has("peft")) GTEST_SKIP() << "no PEFT: scripts/setup --peers installs it";
  {
    const Server trainers = serve("trainers");
    Command job(scratch_.path().string(), train(trainers.url, {"--run.steps", "6"}));
    ASSERT_EQ(job.wait(), 0) << job.err();
  }
  std::string published;
  for (const auto& entry : std::filesystem::directory_iterator(bucket()))
    if (std::filesystem::exists(entry.path() / "adapter_config.json"))
      published += " " + entry.path().string();
  ASSERT_NE(published, "");
  const Server server = serve("server");
  const std::string said =
      output_of(fmt::format("{} {} {} {}{}", script("peft_adapters.py"), (scratch_.path() / "tiny").string(),
                            server.url, (scratch_.path() / "peft").string(), published));
  EXPECT_THAT(said, HasSubstr("all held"));
  EXPECT_THAT(said, ContainsRegex("policy-v[1-9]"));
}

TEST_F(ServePeers, PeftsAdaptersOfSmolLm2) {
  const std::string model = NEREUS_SOURCE_DIR "/.deps/models/SmolLM2-135M-Instruct-hf";
  if (!python_has("peft") || !std::filesystem::exists(model))
    GTEST_SKIP() << "no PEFT or no " << model << ": scripts/setup --peers installs them";
  const Server server = start("server", {"serve", model, "--port", "0", "--matmul-precision", "highest"});
  EXPECT_THAT(output_of(fmt::format("{} {} {} {}", script("peft_adapters.py"), model, server.url,
                                    (scratch_.path() / "peft").string())),
              HasSubstr("all held"));
}

}  // namespace
}  // namespace nereus::integration
