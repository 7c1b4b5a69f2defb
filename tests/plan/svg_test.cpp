#include "nereus/plan/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nereus::plan {
namespace {

using ::testing::HasSubstr;

TEST(Svg, DrawsShapesAndEscapesWords) {
  Svg svg(100, 50, "a < b");
  svg.rectangle(1, 2, 3, 4, "c0", "\"x\" & y");
  svg.line(0, 0, 5, 5, "grid");
  svg.text(9, 8, "<script>", Anchor::end);
  const std::string element = svg.element();
  EXPECT_THAT(element, HasSubstr("viewBox=\"0 0 100 50\""));
  EXPECT_THAT(element, HasSubstr("aria-label=\"a &lt; b\""));
  EXPECT_THAT(element, HasSubstr("<title>&quot;x&quot; &amp; y</title>"));
  EXPECT_THAT(element, HasSubstr("text-anchor=\"end\" class=\"t\">&lt;script&gt;</text>"));
  EXPECT_EQ(element.find("<script>"), std::string::npos);
}

TEST(TickStep, RoundNumbers) {
  struct Case {
    double top;
    int parts;
    double step;
  };
  const Case cases[] = {{80, 8, 10}, {81, 8, 20}, {1, 5, 0.2}, {0.37, 8, 0.05}, {4096, 8, 1000}, {3, 8, 0.5}};
  for (const auto& c : cases) EXPECT_NEAR(tick_step(c.top, c.parts), c.step, 1e-12 * c.step) << c.top;
}

}  // namespace
}  // namespace nereus::plan
