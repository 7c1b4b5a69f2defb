#include "nereus/config/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace nereus::config {
namespace {

using ::testing::HasSubstr;

TEST(ReadTextFile, TheWholeFileOrTheReason) {
  const auto folder = std::filesystem::temp_directory_path() / "nereus_text_file_test";
  std::filesystem::create_directories(folder);
  const std::string text("a\r\nb\0c", 6);
  std::ofstream(folder / "t", std::ios::binary) << text;
  const auto read = read_text_file(folder / "t");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, text);
  EXPECT_THAT(read_text_file(folder).error().message, HasSubstr("is a folder, expected a file"));
  EXPECT_THAT(read_text_file(folder / "u").error().message, HasSubstr("/u: cannot open: No such file"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nereus::config
