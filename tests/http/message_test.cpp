#include "nereus/http/message.h"

#include <gtest/gtest.h>

#include "nereus/http/bearer.h"
#include "nereus/http/url.h"
#include "nereus/http/wire.h"

namespace nereus::http {
namespace {

TEST(Headers, NamesHaveNoCase) {
  Headers headers = {{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.get("content-TYPE"), "a");
  EXPECT_EQ(headers.get("X"), "1");
  EXPECT_EQ(headers.get("Y"), "");
  EXPECT_FALSE(headers.has("Y"));
  headers.set("x", "3");
  EXPECT_EQ(headers.get("X"), "3");
  EXPECT_EQ(headers.size(), 2U);
  headers.add("Connection", "Keep-Alive , upgrade");
  EXPECT_TRUE(headers.lists("connection", "upgrade"));
  EXPECT_TRUE(headers.lists("connection", "keep-alive"));
  EXPECT_FALSE(headers.lists("connection", "keep"));
}

TEST(Request, PathAndQuery) {
  Request request;
  request.target = "/a%20b/c?mode=wa%69t&x=&y";
  EXPECT_EQ(request.path(), "/a b/c");
  EXPECT_EQ(request.query("mode"), "wait");
  EXPECT_EQ(request.query("x"), "");
  EXPECT_EQ(request.query("z"), "");
  request.target = "/a%2";
  EXPECT_EQ(request.path(), "");
}

TEST(Wire, AValueCannotBeginAFieldOfItsOwn) {
  const std::string head =
      response_head(200, {{"X", "a\r\nSet-Cookie: b"}, {"Bad name", "c"}, {"Content-Length", "9"}},
                    {.length = 2, .chunked = false, .connection = "close"});
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
}

TEST(Bearer, OnlyTheWholeTokenOpens) {
  struct Case {
    const char* value;
    bool open;
  };
  for (const Case& c :
       {Case{"Bearer secret", true}, Case{"bearer secret", true}, Case{"Bearer secre", false},
        Case{"Bearer secrets", false}, Case{"Bearer  secret", false}, Case{"Basic secret", false},
        Case{"secret", false}, Case{"Bearer ", false}, Case{"", false}})
    EXPECT_EQ(has_bearer({{"Authorization", c.value}}, "secret"), c.open) << c.value;
  EXPECT_FALSE(has_bearer({}, "secret"));
}

TEST(Url, Parts) {
  const auto url = value_or_throw(Url::parse("https://example.org/v1/"));
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, 443);
  EXPECT_EQ(url.path, "/v1");
  EXPECT_EQ(value_or_throw(Url::parse("http://127.0.0.1:8000")).text(), "http://127.0.0.1:8000");
  EXPECT_EQ(value_or_throw(Url::parse("http://[::1]:81/x")).text(), "http://[::1]:81/x");
  for (const char* bad :
       {"", "localhost:1", "ftp://a", "http://", "http://:80", "http://a:0", "http://a:70000", "http://a:b",
        "http://u@a", "http://a/?x", "http://a/#x", "http://a b"})
    EXPECT_FALSE(Url::parse(bad)) << bad;
}

}  // namespace
}  // namespace nereus::http
