#include "nereus/simulator/scenario_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nereus/config/text_file.h"

namespace nereus::simulator {
namespace {

using testing::HasSubstr;

const std::string kGood = R"([simulation]
steps = 20
policies = ["fixed", "adaptive"]

[[machine]]
name = "a"
count = 3
devices = 4
device = "A100-80"
network_gb_s = 25.0

[job]
algorithm = "grpo"
prompts = 64

[actor]
model = "qwen2.5-0.5b"

[growth]
last = 900

[world]
noise = 0.1
)";

Result<Scenario> parse(const std::string& text, const config::Overrides& overrides = {}) {
  return parse_scenario(text, "s.toml", ".", overrides);
}

TEST(ScenarioFile, Good) {
  const auto scenario = value_or_throw(parse(kGood));
  EXPECT_EQ(scenario.steps, 20);
  EXPECT_EQ(scenario.machines(), 3);
  EXPECT_EQ(scenario.machine().devices, 4);
  EXPECT_EQ(scenario.job.prompts, 64);
  EXPECT_EQ(scenario.world.noise, 0.1);
  EXPECT_EQ(scenario.world.drift, WorldOptions().drift);
  EXPECT_EQ(scenario.availability, (std::vector<Reading>{{0, 3}}));
  EXPECT_NEAR(scenario.lengths.back().mean, 900, 2);
  EXPECT_NEAR(scenario.lengths.front().mean, scenario.job.lengths.mean_response(), 2);
}

TEST(ScenarioFile, OverridesReachEverySection) {
  const auto scenario = value_or_throw(parse(
      kGood,
      {{"world.noise", "0.2"}, {"machine.0.count", "5"}, {"job.prompts", "32"}, {"simulation.steps", "7"}}));
  EXPECT_EQ(scenario.world.noise, 0.2);
  EXPECT_EQ(scenario.machines(), 5);
  EXPECT_EQ(scenario.job.prompts, 32);
  EXPECT_EQ(scenario.steps, 7);
}

TEST(ScenarioFile, GeneratedAvailability) {
  const auto scenario = value_or_throw(parse(kGood + "[availability]\nlow = 1\nmean_hours = 0.5\n"));
  EXPECT_GT(scenario.availability.size(), 5U);
}

TEST(ScenarioFile, Bad) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"noize = 0.1\n", "s.toml:24: unknown key world.noize; did you mean world.noise?"},
      {"[word]\nnoise = 0.1\n", "s.toml:25"},
      {"[availability]\nfile = \"no-such.csv\"\n", "s.toml:25: availability.file: "},
      {"[availability]\nlow = 9\n", "expected at most the 3 machines"},
      {"[availability]\nlow = 1\n", "availability.mean_hours"},
      {"[availability]\nunit = \"rack\"\n", "expected one of"},
      {"[growth]\nfile = \"no-such.log\"\n", ""},
      {"[[machine]]\ndevice = \"H100\"\nnetwork_gb_s = 25.0\n", "expected machines of one kind"},
      {"[reference]\nmodel = \"no-such-model\"\n", "s.toml:25"},
  };
  for (const auto& [text, message] : cases) {
    const auto scenario = parse(kGood + text);
    ASSERT_FALSE(scenario) << text;
    EXPECT_THAT(scenario.error().message, HasSubstr(message)) << text;
  }
  std::string unknown = kGood;
  unknown.replace(unknown.find("adaptive"), 8, "clever");
  EXPECT_THAT(parse(unknown).error().message,
              testing::AllOf(HasSubstr("s.toml:3: simulation.policies: unknown policy \"clever\""),
                             HasSubstr("elastic-data")));
  EXPECT_THAT(read_scenario("/no/such.toml").error().message, HasSubstr("/no/such.toml"));
}

TEST(ScenarioFile, SectionsKeepTheirLines) {
  const std::string text = "a = 1\n[x]\nb = 2\n[[y]]\nc = 3\n[ z.w ]\nd = 4\n";
  EXPECT_EQ(only_sections(text, {"y"}, false), "\n\n\n[[y]]\nc = 3\n\n\n");
  EXPECT_EQ(only_sections(text, {"y", "z"}, true), "a = 1\n[x]\nb = 2\n\n\n\n\n");
}

TEST(ScenarioFile, DocumentationListsEveryKey) {
  const auto page = config::read_text_file(std::filesystem::path(NEREUS_SOURCE_DIR) / "docs/simulator.md");
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr(scenario_reference()));
}

TEST(ScenarioFile, EveryExampleReads) {
  const auto data = std::filesystem::path(NEREUS_SOURCE_DIR) / "../shared/data/traces";
  int read = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(NEREUS_SOURCE_DIR) / "examples")) {
    const std::string name = entry.path().filename().string();
    const bool traced = name.starts_with("adapt-");
    if (!traced && !name.starts_with("peers-") && !name.starts_with("scale-")) continue;
    if (traced && !std::filesystem::exists(data)) continue;
    const auto scenario = read_scenario(entry.path());
    EXPECT_TRUE(scenario) << name << ": " << scenario.error().message;
    ++read;
  }
  EXPECT_GE(read, 4);
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is missing: examples with traces were not read";
}

}  // namespace
}  // namespace nereus::simulator
