#include "nereus/http/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::http {
namespace {

using testing::HasSubstr;

struct Read {
  Parser parser;
  std::string body, rest;
  ParseFailure failure{0, ""};
};

/// Feeds `text` in pieces of `step` bytes.
Read read(MessageKind kind, std::string_view text, size_t step, ParserLimits limits = {},
          bool bodiless = false) {
  Read result{Parser(kind, limits, bodiless), "", "", {0, ""}};
  std::string held;
  for (size_t i = 0; i < text.size() && !result.parser.done(); i += step) {
    held += text.substr(i, step);
    while (!result.parser.done()) {
      const auto taken = result.parser.put(held);
      if (!taken) {
        result.failure = taken.error();
        return result;
      }
      held.erase(0, *taken);
      result.body += result.parser.take_body();
      if (*taken == 0) break;
    }
    if (result.parser.done()) result.rest = held + std::string(text.substr(std::min(i + step, text.size())));
  }
  return result;
}

TEST(Parser, RequestsHoweverTheyAreCut) {
  struct Case {
    const char* name;
    std::string text;
    std::string method, target, body, rest;
    bool keep_alive;
  };
  const Case cases[] = {
      {"no body", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/a?b=c", "", "", true},
      {"length", "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "POST", "/p", "hello", "",
       true},
      {"chunks",
       "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
       "chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n",
       "POST", "/p", "hello!", "", true},
      {"an empty body in chunks", "PUT /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "PUT",
       "/p", "", "", true},
      {"trailer", "PUT /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n",
       "PUT", "/p", "a", "", true},
      {"two in a row", "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", "GET", "/1", "",
       "GET /2 HTTP/1.1\r\n\r\n", true},
      {"close", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET", "/", "", "", false},
      {"1.0", "GET / HTTP/1.0\r\n\r\n", "GET", "/", "", "", false},
      {"1.0 kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET", "/", "", "", true},
  };
  for (const auto& c : cases) {
    for (const size_t step : {size_t{1}, size_t{3}, size_t{7}, c.text.size()}) {
      SCOPED_TRACE(fmt::format("{}, pieces of {}", c.name, step));
      const Read got = read(MessageKind::request, c.text, step);
      ASSERT_EQ(got.failure.status, 0) << got.failure.message;
      ASSERT_TRUE(got.parser.done());
      EXPECT_EQ(got.parser.method(), c.method);
      EXPECT_EQ(got.parser.target(), c.target);
      EXPECT_EQ(got.body, c.body);
      EXPECT_EQ(got.rest, c.rest);
      EXPECT_EQ(got.parser.keep_alive(), c.keep_alive);
    }
  }
}

TEST(Parser, Responses) {
  const Read plain =
      read(MessageKind::response, "HTTP/1.1 404 Gone\r\nContent-Length: 2\r\nX: y\r\n\r\nno", 4);
  EXPECT_TRUE(plain.parser.done());
  EXPECT_EQ(plain.parser.status(), 404);
  EXPECT_EQ(plain.parser.headers().get("x"), "y");
  EXPECT_EQ(plain.body, "no");
  EXPECT_TRUE(read(MessageKind::response, "HTTP/1.1 204 \r\n\r\n", 3).parser.done());
  EXPECT_TRUE(
      read(MessageKind::response, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 5, {}, true).parser.done());
}

TEST(Parser, AResponseWithoutALengthEndsWithItsConnection) {
  Read got = read(MessageKind::response, "HTTP/1.1 200 OK\r\n\r\nall of it", 100);
  EXPECT_FALSE(got.parser.done());
  EXPECT_EQ(got.body, "all of it");
  EXPECT_TRUE(got.parser.end());
  EXPECT_TRUE(got.parser.done());
  EXPECT_FALSE(got.parser.keep_alive());
}

TEST(Parser, WhatBrokeOffIsNoEnd) {
  for (const char* text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"}) {
    Read got = read(MessageKind::response, text, 100);
    const auto ended = got.parser.end();
    ASSERT_FALSE(ended) << text;
    EXPECT_THAT(ended.error().message, HasSubstr("ended within a message"));
  }
}

TEST(Parser, BadRequests) {
  struct Case {
    std::string text;
    int status;
  };
  const Case cases[] = {
      {"hello\r\n\r\n", 400},
      {"GET / HTTP/3.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\nHost: x\n\n", 505},
      {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nNo colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      // Two lengths smuggle a request past a proxy that believes the other one.
      {"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'a'), 413},
      {"GET / HTTP/1.1\r\nX: " + std::string(2000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(40000, 'a'), 400},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text.substr(0, 80));
    for (const size_t step : {size_t{64}, c.text.size()}) {
      const Read got = read(MessageKind::request, c.text, step, {.header_bytes = 1000, .body_bytes = 100});
      EXPECT_EQ(got.failure.status, c.status) << got.failure.message;
    }
  }
}

}  // namespace
}  // namespace nereus::http
