#include "nereus/formats/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/atomic_file.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::formats {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, PublishedValues) {
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(std::as_bytes(std::span(std::string_view("abc")))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, OfAFileEqualsThatOfItsBytes) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "a", std::string_view("abc")));
  EXPECT_EQ(value_or_throw(sha256_file(folder / "a")),
            sha256(std::as_bytes(std::span(std::string_view("abc")))));
  EXPECT_THAT(sha256_file(folder / "none").error().message, testing::HasSubstr("none: cannot be opened"));
}

}  // namespace
}  // namespace nereus::formats
