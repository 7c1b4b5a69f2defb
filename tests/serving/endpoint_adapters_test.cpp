#include <thread>

#include "tests/formats/scratch_folder.h"
#include "tests/serving/endpoint_fixture.h"

namespace nereus::serving {
namespace {

using test::get;
using testing::HasSubstr;

// Rollouts keep using the base model: requests name the exact version [ms-swift 9855].
TEST_F(EndpointTest, Fault10_AdaptersAnswerUnderTheirNamesOnly) {
  start();
  ASSERT_EQ(ask_json("/v1/load_lora_adapter", {{"lora_name", "policy-v7"}, {"lora_path", "/x"}})["status"],
            "ok");
  const Json answer =
      complete({{"prompt", {1}}, {"model", "policy-v7"}, {"max_tokens", 50}, {"return_token_ids", true}});
  EXPECT_EQ(answer["choices"][0]["text"], "I am policy-v7");
  EXPECT_EQ(answer["choices"][0]["policy_versions"][0][0], 7);
  EXPECT_EQ(answer["model"], "policy-v7");
  EXPECT_EQ(complete({{"prompt", {1}}, {"model", "base"}, {"stop", "."}})["choices"][0]["text"],
            "Hello wörld");
  complete({{"prompt", {1}}, {"model", "policy-v8"}}, 404);
  const Json models = Json::parse(ask(get("/v1/models")).body);
  EXPECT_EQ(models["data"][1]["id"], "policy-v7");
  EXPECT_EQ(models["data"][1]["parent"], "base");
  EXPECT_EQ(models["data"][0]["fingerprint"], "f1");
  ASSERT_EQ(ask_json("/v1/unload_lora_adapter", {{"lora_name", "policy-v7"}})["status"], "ok");
  complete({{"prompt", {1}}, {"model", "policy-v7"}}, 404);
}

// A flag re-reads the adapter from disk at every step: loaded once [SkyRL 1606].
TEST_F(EndpointTest, Fault12_AnAdapterIsReadOnce) {
  start();
  for (int i = 0; i < 3; ++i) ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "/x"}});
  for (int i = 0; i < 3; ++i) complete({{"prompt", {1}}, {"model", "a"}});
  EXPECT_EQ(loads_, 1);
  EXPECT_THAT(
      ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "/y"}}, 400)["error"]["message"]
          .get<std::string>(),
      HasSubstr("a: is loaded already, from /x"));
}

TEST_F(EndpointTest, AnAdapterIsReplacedInPlaceOnlyWhereAsked) {
  start({}, {.adapter_slots = 1});
  const auto load = [&](Json more, int status) {
    more["lora_name"] = "a";
    return ask_json("/v1/load_lora_adapter", std::move(more), status);
  };
  load({{"lora_path", "/x"}}, 200);
  EXPECT_THAT(load({{"lora_path", "/y"}}, 400)["error"]["message"].get<std::string>(),
              HasSubstr("a: is loaded already, from /x"));
  EXPECT_THAT(
      load({{"lora_path", "/y"}, {"load_inplace", "yes"}}, 400)["error"]["message"].get<std::string>(),
      HasSubstr("\"load_inplace\": expected true or false"));
  load({{"lora_path", "/y"}, {"load_inplace", true}}, 200);  // the one slot is its own
  load({{"lora_path", "/missing"}, {"load_inplace", true}}, 400);
  EXPECT_EQ(Json::parse(ask(get("/v1/models")).body)["data"][1]["root"], "/y");  // the old one stays
  complete({{"prompt", {1}}, {"model", "a"}});
  EXPECT_EQ(loads_, 3);
}

TEST_F(EndpointTest, ALoaderThatThrowsFailsItsAdapterAlone) {
  start();
  const auto load = [&](const char* path, int status) {
    return ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", path}}, status);
  };
  EXPECT_THAT(load("/broken", 400)["error"]["message"].get<std::string>(), HasSubstr("a: no memory for it"));
  EXPECT_EQ(load("/x", 200)["status"], "ok");
}

TEST_F(EndpointTest, AdaptersThatCannotBeLoaded) {
  const test::ScratchFolder folder;
  EndpointOptions options;
  options.adapter_root = folder.path();
  start(options);
  const auto load = [&](const char* name, const char* path) {
    return ask_json("/v1/load_lora_adapter", {{"lora_name", name}, {"lora_path", path}},
                    400)["error"]["message"]
        .get<std::string>();
  };
  EXPECT_THAT(load("../a", "x"), HasSubstr("\"lora_name\": expected"));
  EXPECT_THAT(load("base", "x"), HasSubstr("is the name of the base model"));
  EXPECT_THAT(load("a", "../x"), HasSubstr("is not within"));
  EXPECT_THAT(load("a", "/etc"), HasSubstr("is not within"));
  EXPECT_THAT(load("a", ""), HasSubstr("\"lora_path\": expected the folder"));
  EXPECT_THAT(load("a", "missing"), HasSubstr("no adapter_config.json"));
  EXPECT_EQ(ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "x"}})["status"], "ok");
  ask_json("/v1/unload_lora_adapter", {{"lora_name", "b"}}, 404);
}

// Load before unload exceeds the slots and evicts a live policy [trl 7017].
TEST_F(EndpointTest, Fault16_AFullServerRefusesAnAdapterAndKeepsThoseItHas) {
  start({}, {.adapter_slots = 2});
  const auto load = [&](const char* name, int status) {
    return ask_json("/v1/load_lora_adapter", {{"lora_name", name}, {"lora_path", "/x"}}, status);
  };
  load("policy-v1", 200);
  load("policy-v2", 200);
  EXPECT_THAT(load("policy-v3", 400)["error"]["message"].get<std::string>(),
              HasSubstr("policy-v3: all 2 adapter slots are in use; unload one first"));
  for (const char* name : {"policy-v1", "policy-v2"})
    EXPECT_EQ(complete({{"prompt", {1}}, {"model", name}, {"max_tokens", 50}})["choices"][0]["text"],
              std::string("I am ") + name);
  ask_json("/v1/unload_lora_adapter", {{"lora_name", "policy-v1"}});
  load("policy-v3", 200);
}

// An adapter is deleted while still in use [prime-rl 2395].
TEST_F(EndpointTest, Fault14_AnAdapterInUseIsUnloadedWhenItsRequestsHaveEnded) {
  start();
  script_->step_seconds = 0.002;
  ask_json("/v1/load_lora_adapter", {{"lora_name", "a"}, {"lora_path", "/x"}});
  std::string text;
  std::jthread asking([&] {
    test::TestClient client;
    const Json body = {{"prompt", {1}}, {"model", "a"}, {"max_tokens", 60}, {"ignore_eos", true}};
    text = value_or_throw(client.fetch(url_, test::post("/v1/completions", body.dump()))).body;
  });
  ASSERT_TRUE(test::eventually([&] { return engine_->stats().running == 1; }));
  EXPECT_EQ(ask_json("/v1/unload_lora_adapter", {{"lora_name", "a"}})["status"], "ok");
  EXPECT_EQ(engine_->stats().running, 0U);  // it was answered only after the request
  asking.join();
  EXPECT_EQ(Json::parse(text)["choices"][0]["finish_reason"], "length");
}

}  // namespace
}  // namespace nereus::serving
