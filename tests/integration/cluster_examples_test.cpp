// The commands in examples/async-cluster are ones that the program takes, with every option in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "tests/integration/command.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

/// Whether a command ends before this word: the next key of YAML, or what the shell puts between commands.
bool ends_command(const std::string& word) {
  return word.ends_with(':') || word == "&" || word == "do" || word == "-";
}

/// The arguments of each `nereus SUBCOMMAND` of a shell script or a manifest; the shell's variables become
/// one word.
std::vector<Words> commands_of(const fs::path& file) {
  std::string text = std::regex_replace(runtime::file_text(file), std::regex("(^|\n) *#[^\n]*"), "\n");
  text = std::regex_replace(text, std::regex(R"(\\\n)"), " ");
  if (file.extension() != ".yaml") text = std::regex_replace(text, std::regex("\n"), " & ");
  text = std::regex_replace(text, std::regex(R"(\$nereus|\S*build/release/nereus)"), " NEREUS ");
  text = std::regex_replace(text, std::regex(R"(\$\w+|"?\$[{]?[@*\w\[\]]+[}]?"?)"), "");
  text = std::regex_replace(text, std::regex(R"([\[\],"\\;])"), " ");
  std::istringstream words(text);
  std::vector<Words> commands;
  bool inside = false;
  for (std::string word; words >> word;) {
    if (word == "NEREUS") commands.emplace_back();
    inside = word == "NEREUS" || (inside && !ends_command(word));
    if (inside && word != "NEREUS") commands.back().push_back(word);
  }
  std::erase_if(commands, [](const Words& command) {
    return command.empty() || (command[0] != "serve" && command[0] != "proxy" && command[0] != "train");
  });
  return commands;
}

struct Ending {
  Words more;           ///< arguments with which the command ends at once, once its options are taken
  std::string message;  ///< that it then writes
};

/// A model that is not there, a backend that is none, or a look at the configuration.
Ending ending_of(const Words& command) {
  if (command[0] == "proxy") return {{"--backend", "ftp://x"}, "begins with http:// or https://"};
  if (command[0] == "train") return {{"--print-config"}, "[async]"};
  return {{}, "nowhere.gguf"};
}

class ClusterExamples : public testing::TestWithParam<const char*> {
 protected:
  ClusterExamples() { ::setenv("NEREUS_TOKEN", "secret", 1); }
  ~ClusterExamples() override { ::unsetenv("NEREUS_TOKEN"); }

  std::string said(const Words& command) {
    Command process(scratch_.path().string(), command);
    EXPECT_TRUE(process.wait(60)) << testing::PrintToString(command);
    return process.out() + process.err();
  }

  runtime::ScratchFolder scratch_;
};

TEST_P(ClusterExamples, TheirCommandsAreTaken) {
  const fs::path file = fs::path(NEREUS_SOURCE_DIR) / "examples/async-cluster" / GetParam();
  std::map<std::string, int> seen;
  for (Words command : commands_of(file)) {
    ++seen[command[0]];
    for (auto& word : command)
      if (word.starts_with("examples/")) word = (fs::path(NEREUS_SOURCE_DIR) / word).string();
    if (command[0] == "serve") {
      std::erase_if(command, [](const std::string& word) { return word.ends_with(".gguf"); });
      command.insert(command.begin() + 1, "nowhere.gguf");
    }
    const Ending ending = ending_of(command);
    command.insert(command.end(), ending.more.begin(), ending.more.end());
    EXPECT_THAT(said(command), HasSubstr(ending.message)) << testing::PrintToString(command);
    if (seen[command[0]] > 1) continue;
    command.emplace_back("--no-such-option");
    EXPECT_THAT(said(command), HasSubstr("no-such-option"));
  }
  EXPECT_GE(seen["serve"], 1);
  EXPECT_EQ(seen["proxy"], 1);
  EXPECT_EQ(seen["train"], 1);
}

INSTANTIATE_TEST_SUITE_P(Files, ClusterExamples, testing::Values("run.sh", "slurm.sbatch", "kubernetes.yaml"),
                         [](const auto& test) {
                           const std::string name = test.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace nereus::integration
