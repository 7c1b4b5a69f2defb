#include "nereus/serving/backend_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "nereus/serving/backend_state.h"

namespace nereus::serving {
namespace {

using testing::HasSubstr;

http::Response answer(int status, std::string body) {
  return {status, {}, std::move(body)};
}

TEST(BackendApi, Kinds) {
  for (const char* name : {"nereus", "vllm", "sglang", "openai"})
    EXPECT_EQ(backend_kind_name(value_or_throw(backend_kind(name))), name);
  EXPECT_THAT(backend_kind("ollama").error().message, HasSubstr("ollama: expected a kind of server"));
}

TEST(BackendApi, VllmsEndpoints) {
  const auto api = make_backend_api(BackendKind::vllm);
  EXPECT_EQ(api->load("a", "/b/a").target, "/v1/load_lora_adapter");
  EXPECT_EQ(api->load("a", "/b/a").body, R"({"lora_name":"a","lora_path":"/b/a"})");
  EXPECT_EQ(api->replace("a", "/b/a")->body, R"({"lora_name":"a","lora_path":"/b/a","load_inplace":true})");
  EXPECT_EQ(api->unload("a").body, R"({"lora_name":"a"})");
  EXPECT_TRUE(api->is_loaded(answer(200, "Success: LoRA adapter 'a' added successfully."), "a"));
  EXPECT_TRUE(
      api->is_loaded(answer(400, R"({"error":{"message":"... 'a' has already been loaded."}})"), "a"));
  EXPECT_FALSE(api->is_loaded(answer(404, "Not Found"), "a"));
  EXPECT_FALSE(api->is_loaded(answer(400, "No adapter found for /b/a"), "a"));
  EXPECT_TRUE(api->is_unloaded(answer(404, R"({"error":{"message":"... 'a' cannot be found."}})")));
  EXPECT_FALSE(api->is_unloaded(answer(404, "Not Found")));  // where the endpoint is not switched on
  EXPECT_EQ(api->pause(PauseMode::wait)->target, "/pause?mode=wait");
  EXPECT_FALSE(api->address(R"({"model": "a"})", "a"));
}

TEST(BackendApi, SglangsEndpoints) {
  const auto api = make_backend_api(BackendKind::sglang);
  EXPECT_EQ(api->load("a", "/b/a").target, "/load_lora_adapter");
  EXPECT_TRUE(api->is_loaded(answer(200, R"({"success":true,"loaded_adapters":{"a":"/b/a"}})"), "a"));
  EXPECT_TRUE(api->is_loaded(answer(400, R"({"success":false,"loaded_adapters":{"a":"/b/a"}})"), "a"));
  EXPECT_FALSE(api->is_loaded(answer(400, R"({"success":false,"loaded_adapters":{"b":"/b/a"}})"), "a"));
  EXPECT_FALSE(api->is_loaded(answer(200, R"({"success":false})"), "a"));
  EXPECT_FALSE(api->is_loaded(answer(200, "garbage"), "a"));
  EXPECT_EQ(api->address(R"({"model": "a", "prompt": "x"})", "a"), R"({"prompt":"x","lora_path":"a"})");
  EXPECT_EQ(api->pause(PauseMode::keep)->body, R"({"mode":"in_place"})");
  EXPECT_FALSE(api->pause(PauseMode::wait));
  EXPECT_FALSE(api->replace("a", "/b/a"));
}

TEST(BackendApi, PlainServers) {
  const auto api = make_backend_api(BackendKind::openai);
  EXPECT_FALSE(api->has_adapters());
  EXPECT_FALSE(api->pause(PauseMode::keep));
}

TEST(BackendApi, Models) {
  const auto served = value_or_throw(read_models(answer(
      200, R"({"data":[{"id":"m","root":"/m","fingerprint":"f"},{"id":"a","root":"/b/a","parent":"m"}]})")));
  EXPECT_EQ(served.models, std::set<std::string>{"m"});
  EXPECT_EQ(served.adapters.at("a"), "/b/a");
  EXPECT_EQ(served.fingerprint, "f");
  EXPECT_EQ(served.root, "/m");
  for (const auto& bad : {answer(500, "x"), answer(200, "x"), answer(200, "[]"), answer(200, R"({"data":1})"),
                          answer(200, R"({"data":[1]})"), answer(200, R"({"data":[{}]})")})
    EXPECT_FALSE(read_models(bad)) << bad.body;
}

TEST(BackendState, OnlyWhatTheTableSays) {
  EXPECT_EQ(next_state(BackendState::ejected, BackendEvent::answered), BackendState::syncing);
  EXPECT_EQ(next_state(BackendState::ejected, BackendEvent::synced), std::nullopt);
  EXPECT_EQ(next_state(BackendState::unknown, BackendEvent::synced), std::nullopt);
  // Requests come to a server by one way alone: it was given every adapter.
  for (const auto& transition : backend_transitions())
    if (transition.to == BackendState::serving) {
      EXPECT_EQ(transition.event, BackendEvent::synced);
      EXPECT_EQ(transition.from, BackendState::syncing);
    }
}

TEST(BackendState, TheDocumentationHasTheTable) {
  std::ifstream file(std::string(NEREUS_SOURCE_DIR) + "/docs/serving.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(backend_state_table()));
}

TEST(FailureCount, InARow) {
  FailureCount count(3);
  EXPECT_FALSE(count.fail());
  EXPECT_FALSE(count.fail());
  count.succeed();
  EXPECT_FALSE(count.fail());
  EXPECT_FALSE(count.fail());
  EXPECT_TRUE(count.fail());
}

}  // namespace
}  // namespace nereus::serving
