#include "nereus/serving/bucket_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/formats/scratch_folder.h"
#include "tests/http/test_server.h"
#include "tests/serving/publish_files.h"

namespace nereus::serving {
namespace {

using test::get;
using testing::ElementsAre;
using testing::HasSubstr;

class BucketHttpTest : public testing::Test {
 protected:
  BucketHttpTest()
      : bucket_(value_or_throw(Bucket::open(folder_ / "bucket"))),
        copy_(value_or_throw(Bucket::open(folder_ / "copy"))),
        server_(
            [this](http::Exchange& exchange) -> http::Task<> { co_await serve_bucket(bucket_, exchange); },
            {.token = "secret"}) {
    for (const int64_t version : {1, 4}) {
      const NewFile file = {"weights", std::as_bytes(std::span(weights_))};
      value_or_throw(test::publish_files(bucket_, version, version, "base", std::span(&file, 1)));
    }
    std::ofstream(folder_ / "secret") << "key";
    std::ofstream(bucket_.folder(1) / "unlisted") << "x";
  }
  Result<Manifest> fetch(int64_t version) {
    return client_.loop().run(fetch_version(client_.loop(), client_.client(), remote(), version, copy_));
  }
  RemoteBucket remote() const { return {server_.url(), "secret"}; }
  int status(const std::string& path) {
    http::Request request = get(path);
    request.headers.add("Authorization", "Bearer secret");
    return value_or_throw(client_.fetch(server_.url(), std::move(request))).status;
  }

  const std::string weights_ = std::string(700000, 'w');
  test::ScratchFolder folder_;
  Bucket bucket_, copy_;
  test::TestServer server_;
  test::TestClient client_;
};

TEST_F(BucketHttpTest, CopiesVersions) {
  EXPECT_THAT(value_or_throw(client_.loop().run(remote_versions(client_.client(), remote()))),
              ElementsAre(1, 4));
  for (const int64_t version : {4, 1, 4}) EXPECT_EQ(value_or_throw(fetch(version)).version, version);
  EXPECT_EQ(value_or_throw(copy_.verify(4)).json(), value_or_throw(bucket_.verify(4)).json());
  EXPECT_THAT(value_or_throw(copy_.versions()), ElementsAre(1, 4));
}

TEST_F(BucketHttpTest, OnlyWhatAManifestLists) {
  EXPECT_EQ(status("/bucket/policy-v1/weights"), 200);
  EXPECT_EQ(status("/bucket/policy-v1/manifest.json"), 200);
  for (const char* path :
       {"/bucket/policy-v2/weights", "/bucket/policy-v1/unlisted", "/bucket/policy-v1/", "/bucket/policy-v1",
        "/bucket/../secret", "/bucket/policy-v1/../../secret", "/bucket/policy-v1/%2e%2e%2f%2e%2e%2fsecret",
        "/bucket/policy-v1/..%2fmanifest.json", "/bucket/%2e%2e/secret", "/bucket//etc/passwd", "/secret",
        "/bucket/policy-v1/%00"})
    EXPECT_EQ(status(path), 404) << path;
  EXPECT_EQ(value_or_throw(client_.fetch(server_.url(), get("/bucket"))).status, 401);
  // A link to what is not the bucket's, in the place of a file that the manifest lists.
  std::filesystem::remove(bucket_.folder(1) / "weights");
  std::filesystem::create_symlink(folder_ / "secret", bucket_.folder(1) / "weights");
  EXPECT_EQ(status("/bucket/policy-v1/weights"), 404);
}

TEST_F(BucketHttpTest, WhatIsDamagedOnTheWayIsRefused) {
  std::ofstream(bucket_.folder(1) / "weights") << std::string(700000, 'v');
  const auto damaged = fetch(1);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("weights: its bytes are not those of the manifest"));
  EXPECT_THAT(value_or_throw(copy_.versions()), testing::IsEmpty());
  const auto missing = fetch(9);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/bucket/policy-v9/manifest.json: status 404"));
}

}  // namespace
}  // namespace nereus::serving
