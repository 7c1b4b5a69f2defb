#include "nereus/serving/adapter_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nereus/serving/prometheus.h"
#include "nereus/serving/routing.h"
#include "tests/formats/scratch_folder.h"
#include "tests/serving/publish_files.h"

namespace nereus::serving {
namespace {

using testing::HasSubstr;

class AdapterFolderTest : public testing::Test {
 protected:
  AdapterFolderTest() {
    const NewFile file = {"adapter_model.safetensors", std::as_bytes(std::span(weights_))};
    value_or_throw(test::publish_files(bucket_, 1, 1, "f1", std::span(&file, 1)));
  }
  std::string load(const std::filesystem::path& path, const std::string& fingerprint) {
    AdapterHooks hooks;
    hooks.load = [this](const std::string&, const std::string&) -> Result<std::function<void()>> {
      ++loaded_;
      return [] {};
    };
    const auto checked = with_checked_folders(hooks, fingerprint, {.seconds = 0.02});
    const auto made = checked.load("policy-v1", path.string());
    return made ? "" : made.error().message;
  }

  const std::string weights_ = std::string(1000, 'w');
  test::ScratchFolder folder_;
  Bucket bucket_ = value_or_throw(Bucket::open(folder_ / "bucket"));
  int loaded_ = 0;
};

TEST_F(AdapterFolderTest, VersionsOfABucketAreVerified) {
  EXPECT_EQ(load(bucket_.folder(1), "f1"), "");
  EXPECT_EQ(load(bucket_.folder(1), ""), "");
  EXPECT_THAT(load(bucket_.folder(1), "f2"), HasSubstr("is for the base model with the fingerprint f1"));
  EXPECT_THAT(load(bucket_.folder(2), "f1"), HasSubstr("manifest.json: cannot be opened"));
  std::ofstream(bucket_.folder(1) / "adapter_model.safetensors") << std::string(1000, 'v');
  EXPECT_THAT(load(bucket_.folder(1), "f1"), HasSubstr("its SHA-256 is"));
  EXPECT_EQ(loaded_, 2);
}

TEST_F(AdapterFolderTest, FoldersAsPeftWritesThemAreLeftToTheLoader) {
  std::filesystem::create_directory(folder_ / "adapter");
  EXPECT_EQ(load(folder_ / "adapter", "f1"), "");
  std::filesystem::copy(bucket_.folder(1), folder_ / "copied");
  EXPECT_THAT(load(folder_ / "copied", "f1"), HasSubstr("is not named as a version of a bucket"));
}

TEST_F(AdapterFolderTest, PathsStayWithinTheirRoot) {
  const auto root = bucket_.root();
  EXPECT_EQ(value_or_throw(adapter_path("policy-v1", root)), std::filesystem::canonical(bucket_.folder(1)));
  EXPECT_TRUE(adapter_path(bucket_.folder(1).string(), root));
  EXPECT_TRUE(adapter_path("a/../policy-v1", root));
  std::filesystem::create_directory_symlink("/etc", root / "link");
  for (const std::string bad : {"..", "../bucket2", "policy-v1/../../x", "/etc", "link/passwd", ""})
    EXPECT_FALSE(adapter_path(bad, root)) << bad;
  EXPECT_FALSE(adapter_path(std::string("a\0b", 3), root));
  EXPECT_TRUE(adapter_path("/etc", ""));
}

TEST(PrometheusPage, Format) {
  PrometheusPage page;
  page.counter("a_total", "All of it.");
  page.value(3);
  page.gauge("b", "By name.");
  page.value(0.5, {{"name", "x\"y\\z\n"}, {"k", "v"}});
  EXPECT_EQ(page.text(),
            "# HELP a_total All of it.\n# TYPE a_total counter\na_total 3\n"
            "# HELP b By name.\n# TYPE b gauge\nb{name=\"x\\\"y\\\\z\\n\",k=\"v\"} 0.5\n");
}

}  // namespace
}  // namespace nereus::serving
