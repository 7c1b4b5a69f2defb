#include "nereus/runtime/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nereus/runtime/fingerprint.h"
#include "tests/runtime/tiny_model.h"

namespace nereus::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(RunFolder, RefusesAnExistingRunUnlessTold) {
  const ScratchFolder scratch;
  const fs::path path = scratch.path() / "runs" / "one";
  {
    auto fresh = RunFolder::open(path, OnExisting::refuse);
    ASSERT_TRUE(fresh) << fresh.error().message;
    EXPECT_FALSE(fresh->existed());
  }
  scratch.write("runs/one/job.toml", "x");
  scratch.write("runs/one/metrics.jsonl", "x");
  scratch.write("runs/one/notes.txt", "mine");
  EXPECT_THAT(RunFolder::open(path, OnExisting::refuse).error().message, HasSubstr("--resume"));
  {
    auto resumed = RunFolder::open(path, OnExisting::resume);
    ASSERT_TRUE(resumed);
    EXPECT_TRUE(resumed->existed());
  }
  auto replaced = RunFolder::open(path, OnExisting::overwrite);
  ASSERT_TRUE(replaced);
  EXPECT_FALSE(replaced->existed());
  EXPECT_THAT(names_in(path), ElementsAre("lock", "notes.txt"));
}

TEST(RunFolder, OneProcessAtATime) {
  const ScratchFolder scratch;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto held = RunFolder::open(scratch.path(), OnExisting::resume);
    const char ok = held ? 'y' : 'n';
    if (write(ready[1], &ok, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  const auto second = RunFolder::open(scratch.path(), OnExisting::overwrite);
  EXPECT_THAT(second ? "" : second.error().message, HasSubstr("process " + std::to_string(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(RunFolder::open(scratch.path(), OnExisting::resume));  // a dead process holds nothing
}

TEST(RunFolder, CompletionsOfLaterStepsAreRemoved) {
  const ScratchFolder scratch;
  auto folder = RunFolder::open(scratch.path(), OnExisting::refuse);
  ASSERT_TRUE(folder);
  for (const int64_t step : {1, 2, 10}) ASSERT_TRUE(folder->write_completions(step, {"{}", "{}"}));
  EXPECT_EQ(file_text(scratch.path() / "completions/step-00000002.jsonl"), "{}\n{}\n");
  ASSERT_TRUE(folder->remove_after(2));
  EXPECT_THAT(names_in(scratch.path() / "completions"),
              ElementsAre("step-00000001.jsonl", "step-00000002.jsonl"));
}

TEST(CheckpointStore, KeepsTheNewestAndRemovesNothingElse) {
  const ScratchFolder scratch;
  CheckpointStore store(scratch.path());
  for (const int64_t step : {5, 10, 15})
    ASSERT_TRUE(store.save(step, 2, [&](const fs::path& folder) {
      scratch.write((folder.lexically_relative(scratch.path()) / "a.txt").string(), std::to_string(step));
      return Status();
    }));
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("step-00000010", "step-00000015"));
  const auto newest = store.newest();
  ASSERT_TRUE(newest && *newest);
  EXPECT_EQ((*newest)->step, 15);
  EXPECT_EQ(file_text((*newest)->folder / "a.txt"), "15");
  ASSERT_TRUE(store.remove_after(10));
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("step-00000010"));
}

TEST(CheckpointStore, AFailedSaveLeavesNothing) {
  const ScratchFolder scratch;
  CheckpointStore store(scratch.path());
  const auto status = store.save(1, 0, [](const fs::path& folder) -> Status {
    EXPECT_TRUE(fs::exists(folder));
    return fail("the disk is full");
  });
  EXPECT_EQ(status.error().message, "the disk is full");
  EXPECT_TRUE(names_in(scratch.path()).empty());
  EXPECT_FALSE(*store.newest());
}

// A checkpoint that was cut short is never taken for a whole one.
TEST(CheckpointStore, DamagedOnesArePassedOver) {
  struct Case {
    const char* what;
    std::function<void(const fs::path&)> damage;
    const char* message;
  };
  const Case cases[] = {
      {"cut", [](const fs::path& f) { fs::resize_file(f / "sub/data", 3); }, "has 3 bytes"},
      {"changed",
       [](const fs::path& f) { fs::remove(f / "sub/data"), fs::copy_file(f / "other", f / "sub/data"); },
       "SHA-256"},
      {"missing", [](const fs::path& f) { fs::remove(f / "other"); }, "missing"},
      {"no manifest", [](const fs::path& f) { fs::remove(f / "manifest.json"); }, "manifest.json"},
      {"torn manifest", [](const fs::path& f) { fs::resize_file(f / "manifest.json", 9); }, "manifest.json"},
  };
  for (const auto& c : cases) {
    const ScratchFolder scratch;
    CheckpointStore store(scratch.path());
    for (const int64_t step : {1, 2})
      ASSERT_TRUE(store.save(step, 0, [&](const fs::path& folder) {
        const auto inside = folder.lexically_relative(scratch.path());
        scratch.write((inside / "sub/data").string(), "eight by");
        scratch.write((inside / "other").string(), "EIGHT BY");
        return Status();
      }));
    c.damage(scratch.path() / "step-00000002");
    std::vector<std::string> damaged;
    const auto newest = store.newest(&damaged);
    ASSERT_TRUE(newest && *newest) << c.what;
    EXPECT_EQ((*newest)->step, 1) << c.what;
    ASSERT_EQ(damaged.size(), 1U) << c.what;
    EXPECT_THAT(damaged[0], HasSubstr(c.message)) << c.what;
  }
}

TEST(CheckpointStore, LeftoversOfAnInterruptedSaveAreIgnoredAndRemoved) {
  const ScratchFolder scratch;
  scratch.write(".saving-step-00000007/half", "x");
  scratch.write("step-abc/readme", "not a checkpoint");
  CheckpointStore store(scratch.path());
  EXPECT_FALSE(*store.newest());
  ASSERT_TRUE(store.remove_after(0));
  EXPECT_THAT(names_in(scratch.path()), ElementsAre("step-abc"));
}

TEST(Fingerprint, TellsModelsApart) {
  const ScratchFolder scratch;
  const auto a = scratch.write("a.gguf", std::string(3 << 20, 'x')),
             b = scratch.write("b/a.gguf", std::string(3 << 20, 'x'));
  ASSERT_TRUE(model_fingerprint(a));
  EXPECT_EQ(*model_fingerprint(a), *model_fingerprint(b));
  scratch.write("b/a.gguf", std::string((3 << 20) - 1, 'x') + "y");
  EXPECT_NE(*model_fingerprint(a), *model_fingerprint(b));
  EXPECT_THAT(model_fingerprint(scratch.path() / "none").error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace nereus::runtime
