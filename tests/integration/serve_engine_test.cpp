// What `nereus serve` makes of its engine's own features, asked over HTTP.
#include <gmock/gmock.h>

#include <future>

#include "nereus/http/client.h"
#include "tests/integration/processes.h"

namespace nereus::integration {
namespace {

class ServeEngine : public Processes {
 protected:
  http::Response ask(const Server& server, const char* path, const OrderedJson& body) {
    const auto url = value_or_throw(http::Url::parse(server.url));
    return value_or_throw(loop_.run(client_.fetch(url, http::json_request("POST", path, body))));
  }
  Json complete(const Server& server, OrderedJson body) {
    const auto answer = ask(server, "/v1/completions", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body);
  }
  /// Folders of the versions that a short run published.
  std::vector<std::string> published() {
    const Server server = serve("trainers");
    Command job(scratch_.path().string(), train(server.url, {"--run.steps", "6"}));
    EXPECT_EQ(job.wait(), 0) << job.err();
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(bucket()))
      if (std::filesystem::exists(entry.path() / "adapter_config.json")) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
  }
  static int64_t number(const std::string& folder) {
    return std::atoll(folder.substr(folder.rfind('v') + 1).c_str());
  }

  http::Loop loop_;
  http::Client client_{loop_};
};

std::vector<int> prompt(int tokens) {
  std::vector<int> ids;
  for (int i = 0; i < tokens; ++i) ids.push_back(3 + 5 * i);
  return ids;
}

TEST_F(ServeEngine, PromptsThatBeginAlikeAreComputedOnce) {
  const Server server = serve("server");
  const OrderedJson body = {{"prompt", prompt(40)}, {"max_tokens", 8}, {"seed", 3}, {"n", 2}};
  const Json cold = complete(server, body), warm = complete(server, body);
  EXPECT_EQ(cold["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(warm["usage"]["prompt_tokens_details"]["cached_tokens"], 32);
  EXPECT_EQ(cold["choices"], warm["choices"]);
  const Server without = start("without", {"serve", (scratch_.path() / "tiny").string(), "--port", "0",
                                           "--threads", "1", "--prefix-cache", "false"});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(complete(without, body)["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(ServeEngine, WhatWaitsInAPauseGoesOnUnderTheAdapterPutInPlace) {
  const auto folders = published();
  ASSERT_GE(folders.size(), 2U);
  const Server server = serve("server");
  const auto load = [&](const std::string& folder, bool in_place) {
    return ask(server, "/v1/load_lora_adapter",
               {{"lora_name", "policy"}, {"lora_path", folder}, {"load_inplace", in_place}})
        .status;
  };
  const OrderedJson body = {{"prompt", prompt(20)}, {"model", "policy"},       {"max_tokens", 6}, {"seed", 3},
                            {"ignore_eos", true},   {"return_token_ids", true}};
  ASSERT_EQ(load(folders.front(), false), 200);
  EXPECT_EQ(complete(server, body)["choices"][0]["policy_versions"],
            Json::array({Json::array({number(folders.front()), 6})}));
  ASSERT_EQ(ask(server, "/pause?mode=keep", OrderedJson::object()).status, 200);
  auto waiting = std::async(std::launch::async, [&] {
    http::Loop loop;
    http::Client client(loop);
    const auto url = value_or_throw(http::Url::parse(server.url));
    return loop.run(client.fetch(url, http::json_request("POST", "/v1/completions", body)));
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  EXPECT_EQ(load(folders.back(), false), 400);
  ASSERT_EQ(load(folders.back(), true), 200);
  ASSERT_EQ(ask(server, "/resume", OrderedJson::object()).status, 200);
  const Json answer = Json::parse(value_or_throw(waiting.get()).body);
  EXPECT_EQ(answer["choices"][0]["policy_versions"], Json::array({Json::array({number(folders.back()), 6})}));
  // The prefix that the old version had computed is not the new one's.
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

}  // namespace
}  // namespace nereus::integration
