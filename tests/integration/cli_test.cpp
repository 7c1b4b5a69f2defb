#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "nereus/base/json.h"
#include "nereus/base/random.h"
#include "nereus/cluster/cluster_file.h"
#include "tests/integration/command.h"
#include "tests/runtime/tiny_job.h"

namespace nereus::integration {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::write_tiny_model(scratch_.path() / "tiny");
    job_ = scratch_.write("job.toml", runtime::tiny_job("steps = 30\nthreads = 1\ncheckpoint_every = 3"))
               .string();
  }
  std::string folder() const { return scratch_.path().string(); }
  std::vector<std::string> train(const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"train", job_, "--run.name", name});
    return more;
  }
  fs::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }

  runtime::ScratchFolder scratch_;
  std::string job_;
};

std::string adapter_of(const fs::path& run) {
  return runtime::file_text(run / "adapter/adapter_model.safetensors");
}

int64_t lines_in(const fs::path& file) {
  const std::string text = runtime::file_text(file);
  return std::count(text.begin(), text.end(), '\n');
}

/// Waits until the run has logged `steps` steps.
bool reached(const fs::path& run, int64_t steps) {
  for (int i = 0; i < 12000 && lines_in(run / "metrics.jsonl") < steps; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return lines_in(run / "metrics.jsonl") >= steps;
}

// Threads that spin for long while another program has their processor slow a step twentyfold.
TEST(CliThreads, SpinBrieflyUnlessTheUserSaysHowLong) {
  const auto last_count = [](const std::string& environment) {
    const std::string shown = output_of("env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose " +
                                        environment + " " NEREUS_BINARY_DIR "/nereus generate --help");
    const size_t at = shown.rfind("GOMP_SPINCOUNT");
    return at == std::string::npos ? shown : shown.substr(at, shown.find('\n', at) - at);
  };
  EXPECT_EQ(last_count(""), "GOMP_SPINCOUNT = '10000'");
  EXPECT_EQ(last_count("GOMP_SPINCOUNT=77"), "GOMP_SPINCOUNT = '77'");
  EXPECT_EQ(last_count("OMP_WAIT_POLICY=passive"), "GOMP_SPINCOUNT = '0'");
}

TEST_F(Cli, WhatIsInstalledComputes) {
  const std::string prefix = folder() + "/installed";
  output_of("cmake --install " NEREUS_BINARY_DIR " --prefix " + prefix);
  const std::string said =
      output_of(fmt::format("cd / && {}/bin/nereus generate {}/tiny hi --max-new-tokens 3 "
                            "&& echo status:$?",
                            prefix, folder()));
  EXPECT_THAT(said, HasSubstr("status:0"));
}

#ifndef __SANITIZE_ADDRESS__
// With glibc's allocator a run's memory grew from step to step.
TEST(CliMemory, ProgramsThatComputeRunOnJemallocAsItIsSet) {
  const std::string shown =
      output_of("MALLOC_CONF=stats_print:true " NEREUS_BINARY_DIR "/nereus-compute generate --help");
  EXPECT_THAT(shown, HasSubstr("opt.dirty_decay_ms: -1 "));
  EXPECT_THAT(shown, HasSubstr("opt.narenas: 1\n"));
  EXPECT_THAT(shown, HasSubstr("opt.lg_extent_max_active_fit: 20\n"));
}
#endif

// A reward that computes with OpenMP itself should get from the environment what the user put there, no more.
TEST_F(Cli, CommandsOfRewardsGetTheUsersEnvironment) {
  const auto seen = [&](const std::string& name) {
    Command command(folder(),
                    train(name, {"--reward.0.kind", "command", "--reward.0.pattern", "", "--reward.0.command",
                                 "sh,-c,echo count:${GOMP_SPINCOUNT-none}. >&2; exit 3"}));
    EXPECT_EQ(command.wait(), 1);
    return command.err();
  };
  ::unsetenv("GOMP_SPINCOUNT");
  EXPECT_THAT(seen("plain"), HasSubstr("count:none."));
  ::setenv("GOMP_SPINCOUNT", "77", 1);
  EXPECT_THAT(seen("own"), HasSubstr("count:77."));
  ::unsetenv("GOMP_SPINCOUNT");
}

TEST_F(Cli, ProfileWritesAClusterFileThatPlanReads) {
  const std::string file = (scratch_.path() / "here.toml").string();
  Command command(folder(), {"profile", "--seconds", "0.02", "--devices", "2", "--out", file});
  ASSERT_EQ(command.wait(), 0) << command.err();
  const auto cluster = cluster::read_cluster(file);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->devices(), 2);
}

TEST_F(Cli, ExitCodesAndMessages) {
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* out;
    const char* err;
  };
  const Case cases[] = {
      {{"--version"}, 0, "nereus 0.", ""},
      {{"--help"}, 0, "nereus train examples/addition.toml", ""},
      {{"train", "--help"}, 0, "--train.learning_rate 1e-5", ""},
      {{"model", "init", "--help"}, 0, "--tokenizer-from", ""},
      {{}, 2, "", "A subcommand is required"},
      {{"fly"}, 2, "", "fly"},
      {{"train"}, 2, "", "JOB is required"},
      {{"train", "job.toml", "--resume", "--overwrite"}, 2, "", "excludes"},
      {{"train", "job.toml", "--run.steps"}, 2, "", "--run.steps: expected a value"},
      {{"generate", "model", "hi", "--run.steps", "4"}, 2, "", "only train, eval and simulate"},
      {{"generate", "model"}, 2, "", "either PROMPT or --jsonl"},
      {{"generate", "model", "hi", "--temperature", "-1"}, 2, "", "--temperature"},
      {{"train", "/nowhere/job.toml"}, 1, "", "nereus: error: /nowhere/job.toml"},
      {{"train", job_, "--run.steps", "0"},
       1,
       "",
       "--run.steps: run.steps: expected an integer of at least 1"},
      {{"train", job_, "--train.rate", "0"}, 1, "", "unknown key train.rate"},
      {{"eval", "/nowhere"}, 1, "", "nereus: error:"},
      {{"tokenize", "/nowhere", "x"}, 1, "", "/nowhere"},
      {{"model", "inspect", job_}, 1, "", "job.toml"},
      {{"train", job_, "--print-config"}, 0, "learning_rate = 0.01", ""},
  };
  for (const auto& c : cases) {
    Command command(folder(), c.arguments);
    EXPECT_EQ(command.wait(), c.code) << ::testing::PrintToString(c.arguments) << command.err();
    EXPECT_THAT(command.out(), HasSubstr(c.out)) << ::testing::PrintToString(c.arguments);
    EXPECT_THAT(command.err(), HasSubstr(c.err)) << ::testing::PrintToString(c.arguments);
  }
}

TEST_F(Cli, TrainEvalGenerate) {
  Command training(folder(), train("one", {"--run.steps", "2"}));
  ASSERT_EQ(training.wait(), 0) << training.err();
  EXPECT_THAT(training.err(), HasSubstr("step 2/2"));  // plain lines where output is no terminal
  Command again(folder(), train("one", {"--run.steps", "2"}));
  EXPECT_EQ(again.wait(), 1);
  EXPECT_THAT(again.err(), HasSubstr("--resume"));

  Command eval(folder(), {"eval", run("one").string(), "--eval.samples", "10", "--json"});
  ASSERT_EQ(eval.wait(), 0) << eval.err();
  EXPECT_EQ(Json::parse(eval.out())["samples"], 10);

  Command generate(folder(), {"generate", folder() + "/tiny", "hello", "--adapter",
                              (run("one") / "adapter").string(), "--max-new-tokens", "5"});
  EXPECT_EQ(generate.wait(), 0) << generate.err();
  EXPECT_FALSE(generate.out().empty());
}

// A run killed at random moments, again and again, ends with the weights of one that was not.
TEST_F(Cli, KilledAtAnyMomentAndResumed) {
  Command whole(folder(), train("whole"));
  ASSERT_EQ(whole.wait(), 0) << whole.err();
  RandomStream random(7, 0);
  int kills = 0;
  for (int64_t step = 1; step < 28; step += 3 + static_cast<int64_t>(random.below(9))) {
    Command command(folder(), train("killed", {"--resume"}));
    if (!reached(run("killed"), step)) FAIL() << command.err();
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(20000)));
    command.signal(SIGKILL);
    if (command.wait() == 128 + SIGKILL) ++kills;
  }
  EXPECT_GE(kills, 2);
  Command last(folder(), train("killed", {"--resume"}));
  ASSERT_EQ(last.wait(), 0) << last.err();
  EXPECT_EQ(adapter_of(run("killed")), adapter_of(run("whole")));
  EXPECT_EQ(lines_in(run("killed") / "metrics.jsonl"), 30);
  for (const auto& entry : fs::directory_iterator(run("whole") / "completions"))
    EXPECT_EQ(runtime::file_text(entry.path()),
              runtime::file_text(run("killed") / "completions" / entry.path().filename()));
}

TEST_F(Cli, InterruptFinishesTheStepAndSaves) {
  Command command(folder(), train("stopped", {"--run.steps", "100000", "--run.checkpoint_every", "0"}));
  ASSERT_TRUE(reached(run("stopped"), 2)) << command.err();
  command.signal(SIGINT);
  EXPECT_EQ(command.wait(), 130) << command.err();
  EXPECT_THAT(command.err(), HasSubstr("finishing the step"));
  const auto steps = lines_in(run("stopped") / "metrics.jsonl");
  EXPECT_TRUE(
      fs::exists(run("stopped") / "checkpoints" /
                 ("step-" + std::string(8 - std::to_string(steps).size(), '0') + std::to_string(steps))));
  Command resumed(folder(), train("stopped", {"--resume", "--run.steps", std::to_string(steps + 1)}));
  EXPECT_EQ(resumed.wait(), 0) << resumed.err();
  EXPECT_EQ(lines_in(run("stopped") / "metrics.jsonl"), steps + 1);
}

}  // namespace
}  // namespace nereus::integration
