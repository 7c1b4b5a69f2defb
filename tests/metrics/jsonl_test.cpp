#include "nereus/metrics/jsonl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace nereus::metrics {
namespace {

using testing::HasSubstr;

class JsonlTest : public testing::Test {
 protected:
  JsonlTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~JsonlTest() override { std::filesystem::remove_all(folder_); }

  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void put(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("nereus_jsonl_{}", ::getpid());
  std::filesystem::path path_ = folder_ / "metrics.jsonl";
};

OrderedJson line(int step) {
  return {{"step", step}, {"reward", step * 0.5}};
}

TEST_F(JsonlTest, EachRecordIsOnDiskAtOnce) {
  auto writer = JsonlWriter::create(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(line(1)));
  EXPECT_EQ(content(), "{\"step\":1,\"reward\":0.5}\n");
  ASSERT_TRUE(writer->write({{"step", 2}, {"text", "line\nbreak \xff"}}));
  ASSERT_TRUE(writer->sync());
  EXPECT_EQ(content(), "{\"step\":1,\"reward\":0.5}\n{\"step\":2,\"text\":\"line\\nbreak \xEF\xBF\xBD\"}\n");
}

TEST_F(JsonlTest, CreateRefusesAFileThatIsThere) {
  put("precious\n");
  const auto writer = JsonlWriter::create(path_);
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("metrics.jsonl: cannot be made: File exists"));
  EXPECT_EQ(content(), "precious\n");
}

TEST_F(JsonlTest, ResumedFileEqualsAnUninterruptedOne) {
  std::string whole;
  for (int step = 1; step <= 6; ++step) whole += line(step).dump() + "\n";
  const size_t each = line(1).dump().size() + 1;
  // Killed after any byte beyond the checkpoint of step 3.
  for (size_t bytes = 3 * each; bytes <= whole.size(); ++bytes) {
    put(whole.substr(0, bytes));
    auto writer = JsonlWriter::resume(path_, 3);
    ASSERT_TRUE(writer) << writer.error().message;
    for (int step = 4; step <= 6; ++step) ASSERT_TRUE(writer->write(line(step)));
    ASSERT_EQ(content(), whole) << "killed after " << bytes << " bytes";
  }
}

struct ResumeCase {
  const char* before;
  const char* after;
};

TEST_F(JsonlTest, ResumeKeepsWhatBelongsToTheCheckpoint) {
  const ResumeCase cases[] = {
      {"", ""},
      {"{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n", "{\"step\":1}\n{\"step\":2}\n"},
      {"{\"step\":1}\n{\"step\":1,\"b\":1}\n{\"step\":3}\n", "{\"step\":1}\n{\"step\":1,\"b\":1}\n"},
      {"{\"step\":1}\n{\"step\":2}", "{\"step\":1}\n{\"step\":2}\n"},  // only the newline was lost
      {"{\"step\":1}\n{\"st", "{\"step\":1}\n"},
      {"{\"step\":1}\n3", "{\"step\":1}\n"},
      {"{\"step\":4}\n{\"step\":5}\n", ""},
  };
  for (const ResumeCase& one : cases) {
    put(one.before);
    const auto writer = JsonlWriter::resume(path_, 2);
    ASSERT_TRUE(writer) << writer.error().message;
    EXPECT_EQ(content(), one.after) << one.before;
  }
}

TEST_F(JsonlTest, ResumeMakesAMissingFile) {
  auto writer = JsonlWriter::resume(path_, 2);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(line(3)));
  EXPECT_EQ(content(), line(3).dump() + "\n");
}

TEST_F(JsonlTest, ResumeNamesABadWholeLine) {
  for (const char* bad : {"{\"step\":1}\ngarbage\n{\"step\":2}\n", "{\"step\":1}\n{\"reward\":1}\n",
                          "{\"step\":1}\n{\"step\":\"1\"}\n", "{\"step\":1}\n[]\n"}) {
    put(bad);
    const auto writer = JsonlWriter::resume(path_, 5);
    ASSERT_FALSE(writer) << bad;
    EXPECT_THAT(writer.error().message, HasSubstr("metrics.jsonl:2: ")) << bad;
    EXPECT_EQ(content(), bad) << "nothing is lost";
  }
}

TEST_F(JsonlTest, OnlyRegularFilesAreResumed) {
  for (const char* path : {"/dev/full", "/"}) {
    const auto writer = JsonlWriter::resume(path, 0);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().message, fmt::format("{}: is no regular file", path));
  }
}

/// A disk with room for half a line: the file's size is limited.
TEST_F(JsonlTest, FullDiskIsAnErrorThatNamesTheFileAndLeavesWholeLines) {
  auto writer = JsonlWriter::create(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(line(1)));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{content().size() + 7, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto status = writer->write(line(2));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              HasSubstr("metrics.jsonl: a record could not be written: File too large"));
  EXPECT_EQ(content(), line(1).dump() + "\n");
  ASSERT_TRUE(writer->write(line(2))) << "with room again it goes on";
  EXPECT_EQ(content(), line(1).dump() + "\n" + line(2).dump() + "\n");
}

}  // namespace
}  // namespace nereus::metrics
