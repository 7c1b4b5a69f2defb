#include "nereus/tasks/child_process.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "tests/tasks/scored.h"
#include "tests/tasks/temporary_folder.h"

namespace nereus::tasks {
namespace {

using testing::HasSubstr;

std::unique_ptr<ChildProcess> shell(const std::string& script, const std::filesystem::path& folder = ".") {
  return value_or_throw(ChildProcess::start({"sh", "-c", script}, folder));
}

/// Everything that the child writes until it ends.
std::string read_all(ChildProcess& child, std::string_view input = {}) {
  std::string output;
  while (child.exchange(input, output, 5.0) == ChildProcess::State::alive) {
  }
  return output;
}

/// Whether a process is there and not only waits to be reaped.
bool runs(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string number, name, state;
  return static_cast<bool>(stat >> number >> name >> state) && state != "Z";
}

TEST(ChildProcess, WorksInTheFolderAndFindsPrograms) {
  const TemporaryFolder folder;
  const auto script = folder.write("mine.sh", "#!/bin/sh\npwd\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::string expected = std::filesystem::canonical(folder.path()).string() + "\n";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"pwd", "-P"}, {"./mine.sh"}, {"mine.sh"}, {script.string()}}) {
    const auto child = ChildProcess::start(command, folder.path());
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_EQ(read_all(**child), expected) << command.front();
  }
}

TEST(ChildProcess, BadCommandsAreErrors) {
  const TemporaryFolder folder;
  folder.write("plain.txt", "no program");
  const auto message = [&](std::vector<std::string> command) {
    return error_of(ChildProcess::start(command, folder.path()));
  };
  EXPECT_EQ(message({}), "expected a command: a program and its arguments");
  EXPECT_THAT(message({"no-such-program"}),
              HasSubstr("command \"no-such-program\": not found in PATH, nor as an executable file in /"));
  EXPECT_THAT(message({"./plain.txt"}), HasSubstr("plain.txt is no executable file"));
  EXPECT_THAT(message({"."}), HasSubstr("not found in PATH"));
  const auto broken = folder.write("broken", "#!/no/such/interpreter\n");
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  EXPECT_THAT(message({"./broken"}), HasSubstr("could not be started in"));
  EXPECT_THAT(error_of(ChildProcess::start({"true"}, folder.path() / "none")),
              HasSubstr("No such file or directory"));
}

TEST(ChildProcess, FullPipesBlockNeitherSide) {
  const auto child = value_or_throw(ChildProcess::start({"cat"}, "."));
  const std::string sent(1 << 20, 'x');  // a pipe holds 64 KB
  std::string_view unsent = sent;
  std::string received;
  while (received.size() < sent.size())
    ASSERT_EQ(child->exchange(unsent, received, 5.0), ChildProcess::State::alive);
  EXPECT_EQ(received, sent);
  EXPECT_TRUE(unsent.empty());
}

TEST(ChildProcess, AReaderThatIsGoneRaisesNoSignal) {
  ASSERT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL) << "a broken pipe would end this process";
  const auto child = shell("exec 0<&-; echo started; sleep 0.1; exit 3");
  std::string output;
  std::string_view nothing;
  while (output.empty()) child->exchange(nothing, output, 5.0);
  const std::string sent(1 << 20, 'x');
  EXPECT_EQ(read_all(*child, sent), "");
  EXPECT_EQ(child->end(false), "exited with status 3");
}

TEST(ChildProcess, SaysHowItEnded) {
  EXPECT_EQ(shell("exit 0")->end(false), "exited with status 0");
  EXPECT_EQ(shell("exit 77")->end(false), "exited with status 77");
  EXPECT_EQ(shell("kill -SEGV $$")->end(false), "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(shell("sleep 60")->end(true), "was ended");
}

TEST(ChildProcess, TheWholeGroupEndsWithIt) {
  std::string pid;
  {
    const auto child = shell("sleep 60 & echo $!; wait");
    std::string_view nothing;
    while (!pid.ends_with('\n')) child->exchange(nothing, pid, 5.0);
    pid.pop_back();
    ASSERT_TRUE(runs(pid));
  }
  for (int i = 0; i < 200 && runs(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(runs(pid));
}

TEST(ChildProcess, AGrandchildThatHoldsThePipeHidesNoEnd) {
  const auto child = shell("sleep 60 & echo last; exit 4");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(read_all(*child), "last\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(child->end(false), "exited with status 4");
}

TEST(ChildProcess, KeepsTheLastWordsAndTheLog) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "errors.log";
  const auto child = value_or_throw(ChildProcess::start(
      {"sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i >&2; done"}, ".", log));
  read_all(*child);
  child->end(false);
  const std::string words = child->last_words();
  EXPECT_TRUE(words.starts_with("\n    line 2981\n")) << words;
  EXPECT_TRUE(words.ends_with("\n    line 3000")) << words;
  EXPECT_EQ(std::ranges::count(words, '\n'), 20);
  const std::string text = folder.read("errors.log");
  EXPECT_EQ(std::ranges::count(text, '\n'), 3000);
  EXPECT_EQ(shell("true")->last_words(), "");
  EXPECT_THAT(error_of(ChildProcess::start({"true"}, ".", folder.path() / "no" / "log")),
              HasSubstr("cannot be opened for writing"));
}

TEST(ChildProcess, LeavesNoFileOpenAndInheritsNone) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto inherited = [] { return read_all(*shell("ls /proc/self/fd")); };
  const auto before = open_files();
  const std::string alone = inherited();
  {
    const auto other = shell("sleep 60");
    EXPECT_EQ(inherited(), alone) << "the pipes of another child are not inherited";
  }
  EXPECT_EQ(open_files(), before);
}

TEST(ChildProcess, PythonPrintsAtOnce) {
  const auto child = shell("echo $PYTHONUNBUFFERED");
  EXPECT_EQ(read_all(*child), "1\n");
}

}  // namespace
}  // namespace nereus::tasks
