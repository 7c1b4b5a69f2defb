#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/formats/scratch_folder.h"
#include "tests/integration/command.h"

namespace nereus::cli {
namespace {

using integration::output_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// LibTorch alone takes a quarter of a second to load.
TEST(Launcher, LoadsNeitherLibTorchNorTheKernels) {
  EXPECT_THAT(output_of("LD_TRACE_LOADED_OBJECTS=1 " NEREUS_BINARY_DIR "/nereus plan"),
              AllOf(HasSubstr("libc.so"), Not(HasSubstr("torch")), Not(HasSubstr("libc10")),
                    Not(HasSubstr("gomp")), Not(HasSubstr("dnnl"))));
}

TEST(Launcher, ListsEveryCommand) {
  const std::string help = output_of(NEREUS_BINARY_DIR "/nereus --help");
  for (const char* command :
       {"train", "eval", "generate", "serve", "model", "profile", "tokenize", "plan", "simulate", "proxy"})
    EXPECT_THAT(help, HasSubstr("\n  " + std::string(command) + "  "));
}

/// The program, alone in a folder.
class Alone : public ::testing::Test {
 protected:
  void SetUp() override { fs::copy_file(NEREUS_BINARY_DIR "/nereus", scratch_ / "nereus"); }
  std::string said(const std::string& line) const {
    return output_of("cd " + scratch_.path().string() + " && env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " +
                     line);
  }
  void write_program(const std::string& text) const {
    fs::permissions(scratch_.write("nereus-compute", "#!/bin/sh\n" + text), fs::perms::owner_all);
  }
  test::ScratchFolder scratch_;
};

TEST_F(Alone, SaysWhatIsMissing) {
  EXPECT_THAT(said("sh -c './nereus train job.toml; echo status $?'"),
              AllOf(HasSubstr("nereus: error: nereus train needs the program "),
                    HasSubstr((scratch_ / "nereus-compute").string() +
                              ", which a build with LibTorch makes: No such file"),
                    HasSubstr("status 1\n")));
  EXPECT_THAT(said("./nereus plan --print-reference"), HasSubstr("[[machine]]"));
}

TEST_F(Alone, TheProgramThatComputesIsTheSameProcess) {
  write_program("echo $$ \"$@\" ${GOMP_SPINCOUNT-none}; exit 7\n");
  fs::create_symlink(scratch_ / "nereus", scratch_ / "link");  // as one in a folder of PATH
  const std::string both = said("sh -c 'echo $$; exec ./link --run.steps 4 eval \"a  b\" --json'");
  const std::string shell = both.substr(0, both.find('\n'));
  EXPECT_EQ(both, shell + "\n" + shell + " --run.steps 4 eval a  b --json 10000\n");
  EXPECT_EQ(said("sh -c './nereus generate > /dev/null; echo $?'"), "7\n");
  EXPECT_THAT(said("GOMP_SPINCOUNT=77 ./nereus serve"), HasSubstr(" serve 77\n"));
  EXPECT_THAT(said("OMP_WAIT_POLICY=passive ./nereus serve"), HasSubstr(" serve none\n"));
}

}  // namespace
}  // namespace nereus::cli
