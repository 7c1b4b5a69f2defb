#include "nereus/serving/bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "nereus/formats/atomic_file.h"
#include "nereus/formats/json_file.h"
#include "tests/formats/scratch_folder.h"
#include "tests/serving/publish_files.h"

namespace nereus::serving {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

const std::string kConfig = "{\"r\": 8}", kWeights(10000, 'w');

std::vector<NewFile> files() {
  return {{"adapter_config.json", bytes(kConfig)}, {"adapter_model.safetensors", bytes(kWeights)}};
}

Result<Manifest> publish(Bucket& bucket, int64_t version) {
  const auto list = files();
  return test::publish_files(bucket, version, version * 10, "base-1", list);
}

std::vector<std::string> entries(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

/// Time that only waiting moves.
class ScriptedClock final : public Clock {
 public:
  double now() const override { return now_; }
  double now_ = 0;
};

/// No file of this process can grow beyond `bytes`, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t limit_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = limit_bytes;
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

class BucketTest : public testing::Test {
 protected:
  test::ScratchFolder folder_;
  Bucket bucket_ = value_or_throw(Bucket::open(folder_ / "bucket"));
};

TEST_F(BucketTest, PublishesWholeVersions) {
  EXPECT_THAT(value_or_throw(bucket_.versions()), IsEmpty());
  EXPECT_EQ(value_or_throw(bucket_.newest()), std::nullopt);
  const auto written = value_or_throw(publish(bucket_, 3));
  value_or_throw(publish(bucket_, 12));
  EXPECT_THAT(value_or_throw(bucket_.versions()), ElementsAre(3, 12));
  EXPECT_EQ(value_or_throw(bucket_.newest()), 12);
  EXPECT_THAT(entries(bucket_.root()), ElementsAre("policy-v12", "policy-v3"));
  EXPECT_THAT(entries(bucket_.folder(3)),
              ElementsAre("adapter_config.json", "adapter_model.safetensors", "manifest.json"));
  const auto read = value_or_throw(bucket_.verify(3));
  EXPECT_EQ(read.json(), written.json());
  EXPECT_EQ(read.step, 30);
  EXPECT_EQ(read.base, "base-1");
  EXPECT_EQ(read.find("adapter_model.safetensors")->bytes, 10000U);
}

TEST_F(BucketTest, NeverBackwards) {
  value_or_throw(publish(bucket_, 5));
  for (const int64_t version : {5, 4, 0}) {
    const auto again = publish(bucket_, version);
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, HasSubstr("version 5 is there already, and versions only grow"));
  }
  // A trainer that starts anew meets the same bucket.
  auto other = value_or_throw(Bucket::open(bucket_.root()));
  EXPECT_FALSE(publish(other, 5));
  EXPECT_TRUE(publish(other, 6));
}

TEST_F(BucketTest, AFullDiskLeavesNothing) {
  value_or_throw(publish(bucket_, 1));
  Result<Manifest> written = Manifest();
  {
    const FullDisk disk(5000);
    written = publish(bucket_, 2);
  }
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message,
              HasSubstr("adapter_model.safetensors: writing failed after 5000 bytes"));
  EXPECT_THAT(entries(bucket_.root()), ElementsAre("policy-v1"));
  EXPECT_TRUE(publish(bucket_, 2));
}

TEST_F(BucketTest, AFolderThatCannotBeWritten) {
  const auto opened = Bucket::open("/proc/nereus-bucket");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("/proc/nereus-bucket: the bucket cannot be made"));
  write(folder_ / "file", "");
  EXPECT_FALSE(Bucket::open(folder_ / "file"));
  std::filesystem::remove_all(bucket_.root());
  const auto gone = publish(bucket_, 1);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("a new version cannot be made: No such file"));
}

TEST_F(BucketTest, AKilledPublicationIsNoVersion) {
  std::filesystem::create_directory(bucket_.root() / ".publishing-99-0");
  std::filesystem::create_directory(bucket_.root() / "policy-v2");  // half removed
  EXPECT_THAT(value_or_throw(bucket_.versions()), IsEmpty());
  ASSERT_TRUE(bucket_.clean());
  EXPECT_THAT(entries(bucket_.root()), IsEmpty());
  EXPECT_TRUE(publish(bucket_, 2));
}

/// The number by which the file system knows a file: a copy has another.
ino_t number_of(const std::filesystem::path& file) {
  struct stat found = {};
  return ::stat(file.c_str(), &found) == 0 ? found.st_ino : 0;
}

TEST_F(BucketTest, ADraftIsMovedAndNotCopied) {
  auto draft = value_or_throw(bucket_.draft());
  write(draft.folder() / "weights", kWeights);
  EXPECT_THAT(value_or_throw(bucket_.versions()), IsEmpty());
  const ino_t folder = number_of(draft.folder()), file = number_of(draft.folder() / "weights");
  const auto written = value_or_throw(bucket_.publish(1, 1, "base-1", std::move(draft)));
  EXPECT_EQ(number_of(bucket_.folder(1)), folder);
  EXPECT_EQ(number_of(bucket_.folder(1) / "weights"), file);
  EXPECT_EQ(written.find("weights")->sha256,
            "7d965a128fcba75c1e0ab75323124ebe60d91e80b87949578212f75cf007863a");
  EXPECT_TRUE(bucket_.verify(1));
}

TEST_F(BucketTest, DraftsThatAreNoVersions) {
  struct Case {
    const char* name;
    std::function<void(const std::filesystem::path&)> fill;
    const char* error;
  };
  const Case cases[] = {
      {"nothing", [](const auto&) {}, "\"files\": expected a list of files"},
      {"a folder", [](const auto& to) { std::filesystem::create_directory(to / "x"); },
       "x: expected files alone"},
      {"a link", [](const auto& to) { std::filesystem::create_symlink("/etc/passwd", to / "x"); },
       "x: expected files alone"},
      {"a name", [](const auto& to) { write(to / ".x", "x"); }, "expected the name of a file"},
      {"a manifest", [](const auto& to) { write(to / "manifest.json", "{}"); },
       "expected the name of a file"},
  };
  for (const auto& c : cases) {
    auto draft = value_or_throw(bucket_.draft());
    c.fill(draft.folder());
    const auto written = bucket_.publish(1, 1, "base-1", std::move(draft));
    ASSERT_FALSE(written) << c.name;
    EXPECT_THAT(written.error().message, HasSubstr(c.error)) << c.name;
    EXPECT_THAT(entries(bucket_.root()), IsEmpty()) << c.name;
  }
}

TEST_F(BucketTest, DraftsDoNotMeet) {
  auto first = value_or_throw(bucket_.draft());
  {
    const auto second = value_or_throw(bucket_.draft());
    EXPECT_NE(first.folder(), second.folder());
  }
  write(first.folder() / "weights", kWeights);
  EXPECT_TRUE(bucket_.publish(1, 1, "base-1", std::move(first)));
  EXPECT_THAT(entries(bucket_.root()), ElementsAre("policy-v1"));
}

TEST_F(BucketTest, APublicationWhoseLastSyncFailedIsPublishedAgain) {
  int fails = 2;
  bucket_.set_sync([&](const std::filesystem::path& folder) -> Status {
    if (fails-- > 0) return fail("{}: syncing failed: Input/output error", folder.string());
    return formats::sync_folder(folder);
  });
  const auto first = publish(bucket_, 4), second = publish(bucket_, 4);
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message, HasSubstr("syncing failed"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, first.error().message) << "and not that its number is taken";
  EXPECT_EQ(value_or_throw(publish(bucket_, 4)).json(), value_or_throw(bucket_.verify(4)).json());
  EXPECT_THAT(entries(bucket_.root()), ElementsAre("policy-v4"));
  EXPECT_FALSE(publish(bucket_, 4)) << "it is settled now";
}

TEST_F(BucketTest, OneThatIsUnsettledKeepsItsFilesAndMayBePassedOver) {
  bucket_.set_sync([&](const auto&) -> Status { return fail("syncing failed"); });
  ASSERT_FALSE(publish(bucket_, 4));
  const auto before = value_or_throw(bucket_.verify(4));
  const NewFile other = {"weights", bytes("others")};
  const auto changed = test::publish_files(bucket_, 4, 40, "base-1", std::span(&other, 1));
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("policy-v4: cannot be renamed to its place"));
  EXPECT_FALSE(publish(bucket_, 3)) << "never backwards";
  bucket_.set_sync(formats::sync_folder);
  EXPECT_TRUE(publish(bucket_, 5));
  EXPECT_FALSE(publish(bucket_, 4));
  EXPECT_EQ(value_or_throw(bucket_.verify(4)).json(), before.json());
}

// A ready marker is seen before the files on a network file system: the reader tries again [prime-rl 2391].
TEST_F(BucketTest, Fault13_AMarkerBeforeItsFilesIsWaitedFor) {
  value_or_throw(publish(bucket_, 1));
  const auto weights = bucket_.folder(1) / "adapter_model.safetensors";
  std::filesystem::rename(weights, folder_ / "late");
  ScriptedClock clock;
  int pauses = 0;
  bucket_.set_clock(clock, [&](double seconds) {
    clock.now_ += seconds;
    if (++pauses == 2) write(weights, kWeights.substr(0, 100));  // the beginning comes first
    if (pauses == 4) std::filesystem::rename(folder_ / "late", weights);
  });
  EXPECT_TRUE(bucket_.verify(1));
  EXPECT_EQ(pauses, 4);
}

TEST_F(BucketTest, WaitingEndsAndSaysWhatIsMissing) {
  value_or_throw(publish(bucket_, 1));
  ScriptedClock clock;
  bucket_.set_clock(clock, [&](double seconds) { clock.now_ += seconds; });
  const auto weights = bucket_.folder(1) / "adapter_model.safetensors";
  struct Case {
    const char* name;
    std::function<void()> damage;
    const char* error;
  };
  const Case cases[] = {
      {"short", [&] { std::filesystem::resize_file(weights, 9999); },
       "has 9999 bytes, the manifest says 10000"},
      {"changed", [&] { write(weights, std::string(10000, 'v')); }, "its SHA-256 is"},
      {"gone", [&] { std::filesystem::remove(weights); },
       "No such file or directory, though the manifest lists it"},
      {"no manifest", [&] { std::filesystem::remove(bucket_.folder(1) / "manifest.json"); },
       "cannot be opened"},
      {"garbage", [&] { write(bucket_.folder(1) / "manifest.json", "{"); }, "not valid JSON"},
  };
  for (const auto& c : cases) {
    c.damage();
    const double before = clock.now_;
    const auto read = bucket_.verify(1);
    ASSERT_FALSE(read) << c.name;
    EXPECT_THAT(read.error().message, HasSubstr(c.error)) << c.name;
    EXPECT_THAT(read.error().message, HasSubstr("(tried for 5 s)"));
    EXPECT_NEAR(clock.now_ - before, 5, 0.6);
  }
}

// An adapter folder is deleted while still in use [prime-rl 2395].
TEST_F(BucketTest, Fault14_VersionsInUseAreKept) {
  for (int64_t version = 1; version <= 8; ++version) value_or_throw(publish(bucket_, version));
  const auto removed = value_or_throw(bucket_.prune(3, [](int64_t version) { return version == 2; }));
  EXPECT_THAT(removed, ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(value_or_throw(bucket_.versions()), ElementsAre(2, 6, 7, 8));
  EXPECT_TRUE(bucket_.verify(2));
  EXPECT_THAT(value_or_throw(bucket_.prune(3, {})), ElementsAre(2));
}

// The kind of artifact is guessed from which files are visible: decided by the manifest [prime-rl 3358].
TEST_F(BucketTest, Fault15_TheManifestDecidesWhatAFolderHolds) {
  value_or_throw(publish(bucket_, 1));
  write(bucket_.folder(1) / "model.safetensors", "a whole model, by its name");
  EXPECT_EQ(value_or_throw(bucket_.verify(1)).kind, "lora");
  bucket_.set_patience({.seconds = 0});
  OrderedJson manifest = value_or_throw(bucket_.verify(1)).json();
  manifest["kind"] = "model";
  ASSERT_TRUE(formats::write_json_file(bucket_.folder(1) / "manifest.json", manifest));
  const auto read = bucket_.verify(1);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("\"kind\": model: expected \"lora\""));
}

TEST_F(BucketTest, ImportsWhatTheManifestSays) {
  const auto manifest = value_or_throw(publish(bucket_, 7));
  auto copy = value_or_throw(Bucket::open(folder_ / "copy"));
  auto list = files();
  EXPECT_TRUE(copy.import(manifest, list));
  EXPECT_EQ(value_or_throw(copy.verify(7)).json(), manifest.json());
  list[0].bytes = bytes("{\"r\": 9}");
  auto other = value_or_throw(Bucket::open(folder_ / "other"));
  const auto wrong = other.import(manifest, list);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message,
              HasSubstr("adapter_config.json: its bytes are not those of the manifest"));
  EXPECT_FALSE(other.import(manifest, std::span(list).first(1)));
}

TEST(Manifest, Names) {
  EXPECT_EQ(version_name(7), "policy-v7");
  struct Case {
    const char* name;
    int64_t version;
  };
  for (const Case& c :
       {Case{"policy-v7", 7}, Case{"policy-v0", 0}, Case{"policy-v07", -1}, Case{"policy-v", -1},
        Case{"policy-v-1", -1}, Case{"policy-v7x", -1}, Case{"Policy-v7", -1}, Case{"policy-v7/", -1},
        Case{"policy-v99999999999999999999", -1}})
    EXPECT_EQ(version_of(c.name), c.version) << c.name;
  for (const char* good : {"a", "policy-v7", "A_b.c-9"}) EXPECT_TRUE(safe_name(good)) << good;
  for (const char* bad : {"", ".", "..", ".a", "a/b", "../a", "a b", "a\\b", "ä", "a%2f"})
    EXPECT_FALSE(safe_name(bad)) << bad;
  EXPECT_FALSE(safe_name(std::string(129, 'a')));
}

TEST(Manifest, BadOnes) {
  const std::string file = R"({"name": "a", "bytes": 1, "sha256": ")" + std::string(64, '0') + "\"}";
  const auto with = [&](const std::string& files) {
    return R"({"format": 1, "version": 1, "step": 1, "kind": "lora", "base": "b", "files": )" + files + "}";
  };
  ASSERT_TRUE(Manifest::from_json(Json::parse(with("[" + file + "]")), "m"));
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"[]", "m: expected an object"},
      {"{}", "\"format\": expected a number"},
      {R"({"format": 2})", "format 2: this program reads format 1"},
      {R"({"format": 1, "version": -1})", "\"version\": expected a number of 0 or more"},
      {with("[]"), "\"files\": expected a list of files"},
      {with("[" + file + "," + file + "]"), "a is listed twice"},
      {with(R"([{"name": "../a", "bytes": 1, "sha256": ""}])"),
       "expected the name of a file, without folders"},
      {with(R"([{"name": "manifest.json", "bytes": 1, "sha256": ""}])"), "expected the name of a file"},
      {with(R"([{"name": "a", "bytes": 1, "sha256": "abc"}])"), "expected 64 hexadecimal digits"},
  };
  for (const auto& c : cases) {
    const auto read = Manifest::from_json(Json::parse(c.text), "m");
    ASSERT_FALSE(read) << c.text;
    EXPECT_THAT(read.error().message, HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace nereus::serving
