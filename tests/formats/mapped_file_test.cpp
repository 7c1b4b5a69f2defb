#include "nereus/formats/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

/// Bytes of files that this process has in memory.
int64_t resident_file_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0;
  statm >> size >> resident >> shared;
  return shared * ::sysconf(_SC_PAGESIZE);
}

int64_t sum(std::span<const std::byte> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0},
                         [](int64_t all, std::byte byte) { return all + std::to_integer<int64_t>(byte); });
}

TEST(MappedFile, ForgottenPagesComeBackFromTheFile) {
  const test::ScratchFolder scratch;
  const auto path = scratch.path() / "file";
  std::string content(8 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i % 251);
  std::ofstream(path, std::ios::binary) << content;
  const auto file = value_or_throw(MappedFile::open(path));
  const int64_t total = sum(file->bytes());
  const int64_t before = resident_file_bytes();
  forget_pages(file->bytes().subspan(5));  // not of whole pages
  EXPECT_LE(resident_file_bytes(), before - (7 << 20));
  EXPECT_EQ(sum(file->bytes()), total);
  for (const size_t bytes : {0U, 1U, 4095U, 4097U}) forget_pages(file->bytes().subspan(100, bytes));
  EXPECT_EQ(sum(file->bytes()), total);
}

}  // namespace
}  // namespace nereus::formats
