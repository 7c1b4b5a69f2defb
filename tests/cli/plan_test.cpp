#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nereus/base/json.h"
#include "tests/formats/scratch_folder.h"
#include "tests/integration/command.h"

namespace nereus::cli {
namespace {

using integration::Command;
using ::testing::HasSubstr;

class PlanCli : public ::testing::Test {
 protected:
  std::string folder() const { return scratch_.path().string(); }
  static std::string example(const std::string& name) { return NEREUS_SOURCE_DIR "/examples/" + name; }
  static std::vector<std::string> plan(std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", example("clusters/h100-64.toml"), example("plan-ppo-8b.toml")});
    return more;
  }

  test::ScratchFolder scratch_;
};

TEST_F(PlanCli, PrintsAPlanWithItsMemoryAndTime) {
  Command command(folder(), plan({"--explain", "--top", "2"}));
  ASSERT_EQ(command.wait(), 0) << command.err();
  for (const char* part : {"Plan 1: ", "Plan 2: ", "actor train", "GB of 10^9 bytes",
                           "Longest response that fits", "What bounds the stages"})
    EXPECT_THAT(command.out(), HasSubstr(part));
}

TEST_F(PlanCli, JsonAndWhatIf) {
  Command command(folder(), plan({"--json", "--what-if", "devices=32", "mean_length=4096"}));
  ASSERT_EQ(command.wait(), 0) << command.err();
  const Json json = Json::parse(command.out());
  EXPECT_EQ(json["what_if"]["settings"], "devices=32 mean_length=4096");
  EXPECT_GT(json["what_if"]["plans"][0]["seconds"]["total"], json["plans"][0]["seconds"]["total"]);
}

TEST_F(PlanCli, WritesAPage) {
  const std::string page = (scratch_.path() / "plan.html").string();
  Command command(folder(), plan({"--report", page}));
  ASSERT_EQ(command.wait(), 0) << command.err();
  EXPECT_THAT(integration::text_of(page), HasSubstr("</html>"));
}

TEST_F(PlanCli, ExitCodesAndMessages) {
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* err;
  };
  const auto bad = scratch_.write("bad.toml", "[[machine]]\ndevice = \"A100-8\"\n").string();
  const auto small =
      scratch_.write("small.toml", "[[machine]]\ndevice = \"L4\"\ndevices = 1\nhost_memory_gb = 32\n")
          .string();
  const Case cases[] = {
      {{"plan"}, 2, "CLUSTER and JOB"},
      {{"plan", bad, example("plan-ppo-8b.toml")}, 1, "bad.toml:2: machine.0.device: unknown device"},
      {{"plan", "none.toml", example("plan-ppo-8b.toml")}, 1, "none.toml: cannot open"},
      {{"plan", small, example("plan-ppo-8b.toml")}, 1, ""},  // no plan fits
      {plan({"--what-if", "gpus=3"}), 1, "--what-if gpus: expected devices"},
      {plan({"--top", "0"}), 2, "--top"},
      {plan({"--report", "/nowhere/plan.html"}), 1, "/nowhere/plan.html"},
  };
  for (const auto& c : cases) {
    Command command(folder(), c.arguments);
    EXPECT_EQ(command.wait(), c.code) << command.err() << command.out();
    EXPECT_THAT(command.err(), HasSubstr(c.err));
  }
}

}  // namespace
}  // namespace nereus::cli
