#include "nereus/formats/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "nereus/formats/json_file.h"
#include "nereus/formats/mapped_file.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

using testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  return std::string(value_or_throw(MappedFile::open(path))->text());
}

size_t entries(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// No file of this process can grow beyond `bytes`, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const test::ScratchFolder folder;
  auto file = value_or_throw(AtomicFile::create(folder / "a"));
  ASSERT_TRUE(file.write("one "));
  ASSERT_TRUE(file.write("two"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(content(folder / "a"), "one two");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, ReplacesTheOldFile) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a", "a long old text"));
  ASSERT_TRUE(write_file_atomically(folder / "a", "new"));
  EXPECT_EQ(content(folder / "a"), "new");
}

TEST(AtomicFile, WithoutCommitNothingIsLeft) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a", "old"));
  {
    auto file = value_or_throw(AtomicFile::create(folder / "a"));
    ASSERT_TRUE(file.write("new"));
  }
  EXPECT_EQ(content(folder / "a"), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, FullDiskKeepsTheOldFileAndSaysSo) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a", "old"));
  Status written;
  {
    const FullDisk disk(1000);
    written = write_file_atomically(folder / "a", std::string(5000, 'x'));
  }
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message,
              HasSubstr((folder / "a").string() + ": writing failed after 1000 bytes"));
  EXPECT_THAT(written.error().message, HasSubstr("what was there before is unchanged"));
  EXPECT_EQ(content(folder / "a"), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, AFolderThatIsNotThere) {
  const auto written = write_file_atomically("/nonexistent/folder/a", "x");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("/nonexistent/folder/a: cannot be written: No such file"));
}

TEST(AtomicFile, AFileOfAnEarlierProcessIsNoObstacle) {
  const test::ScratchFolder folder;
  auto first = value_or_throw(AtomicFile::create(folder / "a"));
  auto second = value_or_throw(AtomicFile::create(folder / "a"));
  ASSERT_TRUE(second.write("second"));
  ASSERT_TRUE(second.commit());
  ASSERT_TRUE(first.write("first"));
  ASSERT_TRUE(first.commit());
  EXPECT_EQ(content(folder / "a"), "first");
}

TEST(JsonFile, WritesWhatItReads) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_json_file(folder / "a.json", {{"b", 1}, {"a", "\xff"}}));
  EXPECT_EQ(content(folder / "a.json"), "{\n  \"b\": 1,\n  \"a\": \"\xEF\xBF\xBD\"\n}\n");
  EXPECT_EQ(value_or_throw(read_json_file(folder / "a.json"))["b"], 1);
}

TEST(JsonFile, ErrorsNameTheFile) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a.json", "{"));
  EXPECT_THAT(read_json_file(folder / "a.json").error().message, HasSubstr("a.json: not valid JSON"));
  EXPECT_THAT(read_json_file(folder / "b.json").error().message, HasSubstr("b.json: cannot be opened"));
  EXPECT_THAT(read_json_file(folder.path()).error().message, HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace nereus::formats
