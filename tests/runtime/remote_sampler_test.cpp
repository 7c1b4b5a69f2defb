#include "nereus/runtime/remote_sampler.h"

#include <ATen/ops/ones.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/atomic_file.h"
#include "tests/runtime/tiny_model.h"
#include "tests/serving/stub_backend.h"

namespace nereus::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;

checkpoint::Adapter small_adapter() {
  checkpoint::Adapter adapter{1, 1, false, {"q_proj"}, {}};
  adapter.modules.emplace("model.layers.0.self_attn.q_proj", std::pair(at::ones({1, 4}), at::ones({4, 1})));
  return adapter;
}

class RemoteSamplerTest : public testing::Test {
 protected:
  std::unique_ptr<RemoteSampler> connect(serving::Bucket bucket) {
    RemoteSamplerOptions options;
    options.remote.url = server_.url();
    options.remote.retry_seconds = 0.02;
    options.keep = 2;
    return value_or_throw(RemoteSampler::connect(std::move(options), std::move(bucket)));
  }
  serving::Bucket open(const fs::path& folder) { return value_or_throw(serving::Bucket::open(folder)); }
  /// Hands a policy over and waits until the servers have it.
  std::optional<int64_t> bring(RemoteSampler& sampler, int64_t version) {
    sampler.hand_over(small_adapter(), version);
    std::optional<int64_t> adopted;
    test::eventually([&] {
      adopted = value_or_throw(sampler.adopt());
      return adopted.has_value();
    });
    return adopted;
  }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "bucket";
  test::StubBackend server_;
};

TEST_F(RemoteSamplerTest, BringsAPolicyToTheServers) {
  const auto sampler = connect(open(folder_));
  EXPECT_EQ(bring(*sampler, 0), 0);
  EXPECT_EQ(bring(*sampler, 3), 3);
  const auto bucket = open(folder_);
  EXPECT_THAT(value_or_throw(bucket.versions()), ElementsAre(0, 3));
  EXPECT_EQ(value_or_throw(bucket.verify(3)).step, 3);
  EXPECT_THAT(server_.adapters(), Contains(testing::Pair("policy-v3", (folder_ / "policy-v3").string())));
}

TEST_F(RemoteSamplerTest, APublicationWhoseLastSyncFailedSettles) {
  auto bucket = open(folder_);
  std::atomic<int> failures = 0;
  bucket.set_sync([&failures](const fs::path& folder) -> Status {
    if (++failures <= 3) return fail("{}: syncing failed: Input/output error", folder.string());
    return formats::sync_folder(folder);
  });
  const auto sampler = connect(std::move(bucket));
  EXPECT_EQ(bring(*sampler, 0), 0);
  EXPECT_EQ(sampler->trouble(), "");
  EXPECT_EQ(failures, 4);
  EXPECT_THAT(value_or_throw(open(folder_).versions()), ElementsAre(0)) << "under the number that it has";
}

TEST_F(RemoteSamplerTest, OldVersionsAreKnownByTheirFolderHoweverItIsWritten) {
  fs::create_directory(scratch_.path() / "disk");
  fs::create_directory_symlink(scratch_.path() / "disk", folder_);
  test::TestClient client;
  const auto load = [&](const std::string& name, const fs::path& folder) {
    const Json body = {{"lora_name", name}, {"lora_path", (folder / name).string()}};
    value_or_throw(client.fetch(server_.url(), test::post("/v1/load_lora_adapter", body.dump())));
  };
  load("policy-v1", folder_);
  load("policy-v2", fs::canonical(folder_));  // as a server tells it that follows links
  load("policy-v3", "/another/bucket");
  const auto sampler = connect(open(folder_ / ""));
  ASSERT_EQ(bring(*sampler, 5), 5);
  EXPECT_TRUE(test::eventually([&] { return server_.adapters().size() == 2; }));
  EXPECT_THAT(server_.adapters(), ElementsAre(Key("policy-v3"), Key("policy-v5")));
}

TEST_F(RemoteSamplerTest, EndsWhileOldVersionsAreUnloaded) {
  test::TestClient client;
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("policy-v{}", i);
    const Json body = {{"lora_name", name}, {"lora_path", (folder_ / name).string()}};
    value_or_throw(client.fetch(server_.url(), test::post("/v1/load_lora_adapter", body.dump())));
  }
  const auto unloading = [&] { return server_.count("POST /v1/unload_lora_adapter policy-v0") > 0; };
  server_.set_fault(test::StubBackend::Fault::slow_unloads);
  auto sampler = connect(open(folder_));
  ASSERT_EQ(bring(*sampler, 50), 50);
  ASSERT_TRUE(test::eventually(unloading));
  sampler.reset();
  EXPECT_GT(server_.adapters().size(), 40U) << "the end does not wait for what nobody needs";
}

TEST_F(RemoteSamplerTest, AResumedTrainerGoesOnBeyondTheNewestNumber) {
  EXPECT_EQ(bring(*connect(open(folder_)), 7), 7);
  const auto resumed = connect(open(folder_));
  EXPECT_EQ(bring(*resumed, 2), 2) << "to the trainer it is step 2";
  EXPECT_EQ(value_or_throw(open(folder_).newest()), 8);
}

}  // namespace
}  // namespace nereus::runtime
