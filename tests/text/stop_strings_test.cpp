#include "nereus/text/stop_strings.h"

#include <gtest/gtest.h>

#include "nereus/text/utf8.h"

namespace nereus::text {
namespace {

struct Shown {
  std::string text;
  bool stopped;
  std::string found;
  bool operator==(const Shown&) const = default;
};

/// Feeds `text` in pieces of `size` characters.
Shown feed(StopStrings stops, std::string_view text, size_t size) {
  Shown out{"", false, ""};
  while (!text.empty()) {
    size_t bytes = 0;
    for (size_t i = 0; i < size && bytes < text.size(); ++i) bytes += first_char(text.substr(bytes)).length;
    const auto step = stops.push(text.substr(0, bytes));
    out.text += step.text;
    out.stopped = step.stopped;
    text.remove_prefix(bytes);
  }
  out.found = stops.found();
  out.text += stops.finish();
  return out;
}

TEST(StopStrings, FindsTheFirstHoweverTheTextIsCut) {
  struct Case {
    std::vector<std::string> stops;
    std::string text;
    Shown expected;
  };
  const Case cases[] = {
      {{}, "abc", {"abc", false, ""}},
      {{""}, "abc", {"abc", false, ""}},
      {{"b"}, "abc", {"a", true, "b"}},
      {{"\n\n"}, "a\nb\n\nc", {"a\nb", true, "\n\n"}},
      {{"<|end|>"}, "x<|en<|end|>y", {"x<|en", true, "<|end|>"}},
      {{"<|end|>"}, "x<|en", {"x<|en", false, ""}},  // held back, then shown at the end
      {{"aab"}, "aaab", {"a", true, "aab"}},
      {{"bc", "abcd"}, "xabcd", {"xa", true, "bc"}},  // complete first
      {{"cd", "bcd"}, "abcd", {"a", true, "bcd"}},    // complete together: the longest
      {{"é"}, "èé", {"è", true, "é"}},
      {{"🙂!"}, "🙂🙂!", {"🙂", true, "🙂!"}},
  };
  for (const Case& c : cases) {
    for (const size_t size : {1u, 2u, 3u, 100u}) {
      EXPECT_EQ(feed(StopStrings(c.stops), c.text, size), c.expected) << c.text << " by " << size;
    }
  }
}

TEST(StopStrings, HoldsBackNoMoreThanMayBeginAStop) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.push("theE").text, "the");
  EXPECT_EQ(stops.push("N").text, "");
  EXPECT_EQ(stops.push("x").text, "ENx");
}

TEST(StopStrings, IgnoresWhatComesAfterAStopAndServesAnotherText) {
  StopStrings stops({"."});
  EXPECT_TRUE(stops.push("a.b").stopped);
  EXPECT_EQ(stops.push("more").text, "");
  EXPECT_TRUE(stops.push("more").stopped);
  EXPECT_EQ(stops.finish(), "");
  const auto step = stops.push("next");
  EXPECT_EQ(step.text, "next");
  EXPECT_FALSE(step.stopped);
}

}  // namespace
}  // namespace nereus::text
