// Clients and servers that mean the proxy no good.
#include "tests/serving/proxy_fixture.h"

namespace nereus::serving {
namespace {

using testing::Not;
using testing::StartsWith;

http::Request request(const std::string& method, const std::string& path, const std::string& body = "") {
  return {method, path, {}, body};
}

TEST_F(ProxyTest, EveryPathButHealthNeedsTheToken) {
  start(1, fast());
  const std::string load = R"({"lora_name": "a", "lora_path": "/a"})";
  for (const auto& asked :
       {request("POST", "/v1/completions", R"({"prompt": "a"})"),
        request("POST", "/v1/chat/completions", R"({"messages": []})"), request("GET", "/v1/models"),
        request("GET", "/metrics"), request("POST", "/v1/load_lora_adapter", load),
        request("POST", "/v1/unload_lora_adapter", load), request("POST", "/pause"),
        request("POST", "/resume"), request("GET", "/health/../metrics"), request("GET", "/nothing")}) {
    for (const char* token : {"", "Bearer wrong", "Bearer inner", "outer"}) {
      http::Request tried = asked;
      if (*token) tried.headers.set("Authorization", token);
      const auto answer = value_or_throw(client_.fetch(url_, tried));
      EXPECT_EQ(answer.status, 401) << asked.method << " " << asked.target << " " << token;
      EXPECT_THAT(answer.body, Not(HasSubstr("outer")));
    }
  }
  EXPECT_EQ(stubs_[0]->completions, 0);
  EXPECT_EQ(stubs_[0]->count("POST /pause"), 0U);
  EXPECT_THAT(stubs_[0]->adapters(), IsEmpty());
}

TEST_F(ProxyTest, HealthTellsStrangersNothingOfTheServers) {
  start(1, fast());
  const auto stranger = value_or_throw(client_.fetch(url_, get("/health")));
  EXPECT_EQ(stranger.status, 200);
  EXPECT_THAT(stranger.body, Not(HasSubstr("127.0.0.1")));
  EXPECT_FALSE(Json::parse(stranger.body).contains("servers"));
  EXPECT_TRUE(health().contains("servers"));
}

TEST_F(ProxyTest, TokensStayOnTheirSides) {
  start(1, fast());
  const auto answer = complete("");
  EXPECT_EQ(stubs_[0]->last_authorization(), "Bearer inner");
  for (const auto& [name, value] : answer.headers) EXPECT_THAT(value, Not(HasSubstr("inner")));
  stubs_[0]->set_fault(Fault::error_500);
  EXPECT_THAT(complete("").body, Not(HasSubstr("inner")));
}

TEST_F(ProxyTest, NamesAndPathsOfAdaptersThatAreTricks) {
  start(1, fast());
  const auto try_load = [&](const std::string& name, const std::string& path) {
    return load({{"lora_name", name}, {"lora_path", path}}).status;
  };
  for (const std::string& name :
       {std::string(".."), std::string("../x"), std::string("/etc"), std::string("a/b"), std::string("a\\b"),
        std::string("%2e%2e"), std::string("a%2fb"), std::string("a\0b", 3), std::string("a\nb"),
        std::string(" a"), std::string(129, 'a'), std::string("\xc3\xa9"), std::string()}) {
    EXPECT_EQ(try_load(name, "/bucket/a"), 400) << name;
    EXPECT_EQ(ask(post("/v1/unload_lora_adapter", Json({{"lora_name", name}}).dump())).status, 400) << name;
    EXPECT_EQ(complete(name).status, name.empty() ? 200 : 404) << name;  // none names the base model
  }
  for (const std::string& path : {std::string(), std::string("/a\0b", 4), std::string("/a\r\nX: b")})
    EXPECT_EQ(try_load("a", path), 400) << path;
  EXPECT_EQ(load({{"lora_name", {"a"}}, {"lora_path", "/a"}}).status, 400);
  const auto typed = load({{"lora_name", "a"}, {"lora_path", "/bucket/a"}, {"load_inplace", 1}});
  EXPECT_EQ(typed.status, 400);
  EXPECT_THAT(typed.body, HasSubstr(R"(\"load_inplace\": expected true or false)"));
  EXPECT_EQ(stubs_[0]->completions, 1);
  EXPECT_THAT(stubs_[0]->adapters(), IsEmpty());
  EXPECT_EQ(try_load("a", "/bucket/a"), 200);
}

TEST_F(ProxyTest, PathsThatAreTricks) {
  start(1, fast());
  for (const char* path : {"/v1/../v1/models", "//v1/models", "/v1/models/", "/v1/models%00",
                           "/v1%2fmodels%2f..", "/v1/models%", "/%2e%2e/%2e%2e/etc/passwd", "/V1/MODELS"})
    EXPECT_EQ(ask(get(path)).status, 404) << path;
  EXPECT_EQ(ask(get("/v1/%6dodels")).status, 200);
}

TEST_F(ProxyTest, BodiesThatAreTooLargeOrTooDeepReachNoServer) {
  start(1, fast());
  test::RawSocket socket(server_->port());
  ASSERT_TRUE(
      socket.send("POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\n"
                  "Content-Length: 100000000\r\n\r\n{"));
  EXPECT_THAT(socket.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 413"));
  const std::string deep = R"({"prompt": )" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_EQ(ask(post("/v1/completions", deep)).status, 400);
  EXPECT_EQ(ask(post("/v1/load_lora_adapter", deep)).status, 400);
  EXPECT_EQ(ask(post("/v1/completions", R"({"model": "base", "model": "other"})")).status, 400);
  EXPECT_EQ(ask(post("/v1/completions", "\xff\xfe{}")).status, 400);
  EXPECT_EQ(stubs_[0]->completions, 0);
}

TEST_F(ProxyTest, SlowClientsHoldNobodyUp) {
  start(1, fast());
  std::vector<std::unique_ptr<test::RawSocket>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<test::RawSocket>(server_->port()));
    slow.back()->send(i % 2 == 0 ? "POST /v1/completions HTTP/1.1\r\nAuth"
                                 : "POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer outer\r\n"
                                   "Content-Length: 50\r\n\r\n{\"prompt\"");
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(complete("", 100 * i).status, 200);
  EXPECT_EQ(stubs_[0]->completions, 10);
}

TEST_F(ProxyTest, AnAnswerWithoutAnEndIsCutOff) {
  auto options = fast();
  options.max_answer_bytes = 1 << 20;
  start(1, std::move(options));
  stubs_[0]->set_fault(Fault::endless);
  const auto answer = complete("");
  EXPECT_EQ(answer.status, 502);
  EXPECT_THAT(answer.body, HasSubstr("the answer is larger than 1048576 bytes"));
  EXPECT_TRUE(eventually([&] { return stubs_[0]->running == 0; }));
}

}  // namespace
}  // namespace nereus::serving
