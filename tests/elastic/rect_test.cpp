#include "nereus/elastic/rect.h"

#include <gtest/gtest.h>

namespace nereus::elastic {
namespace {

TEST(Rect, Intersection) {
  const Rect a{0, 4, 0, 6};
  struct Case {
    Rect b, common;
  };
  for (const auto& [b, common] : std::vector<Case>{{{2, 8, 1, 3}, {2, 4, 1, 3}},
                                                   {{0, 4, 0, 6}, {0, 4, 0, 6}},
                                                   {{4, 8, 0, 6}, {}},
                                                   {{0, 4, 6, 7}, {}},
                                                   {{}, {}}}) {
    EXPECT_EQ(intersection(a, b), common);
    EXPECT_EQ(intersection(b, a), common);
    EXPECT_TRUE(a.contains(common));
  }
  EXPECT_FALSE(a.contains({0, 5, 0, 6}));
  EXPECT_EQ((Rect{3, 3, 0, 6}.elements()), 0);
}

TEST(Rect, IntervalOfTheFlatElements) {
  const Rect box{10, 13, 5, 9};  // three rows of four
  struct Case {
    int64_t begin, end;
    std::vector<Rect> rects;
  };
  for (const auto& [begin, end, rects] :
       std::vector<Case>{{0, 12, {{10, 13, 5, 9}}},
                         {0, 0, {}},
                         {5, 7, {{11, 12, 6, 8}}},
                         {4, 8, {{11, 12, 5, 9}}},
                         {3, 5, {{10, 11, 8, 9}, {11, 12, 5, 6}}},
                         {1, 11, {{10, 11, 6, 9}, {11, 12, 5, 9}, {12, 13, 5, 8}}},
                         {2, 12, {{10, 11, 7, 9}, {11, 13, 5, 9}}}}) {
    EXPECT_EQ(interval_rects(box, begin, end), rects) << begin << " to " << end;
  }
}

TEST(Rect, EvenParts) {
  for (int64_t total = 0; total < 20; ++total) {
    for (int64_t parts = 1; parts < 25; ++parts) {
      int64_t at = 0, before = total;
      for (int64_t i = 0; i < parts; ++i) {
        const Interval part = even_part(total, parts, i);
        EXPECT_EQ(part.begin, at);
        EXPECT_LE(part.size(), before) << "larger ones come first";
        EXPECT_GE(part.size(), total / parts);
        before = part.size();
        at = part.end;
      }
      EXPECT_EQ(at, total);
    }
  }
}

}  // namespace
}  // namespace nereus::elastic
