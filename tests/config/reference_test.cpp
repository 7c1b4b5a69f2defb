#include "nereus/config/reference.h"

#include <gtest/gtest.h>

namespace nereus::config {
namespace {

struct Pair {
  int64_t left = 3;
  std::optional<double> right;
};

TEST(ReferenceTables, HaveDefaultBoundsAndMeaning) {
  KeyTable<Pair> keys;
  keys.add(
      "one.left", [](auto& p) -> auto& { return p.left; }, "Left | or not.", at_least(0));
  keys.add(
      "two.right", [](auto& p) -> auto& { return p.right; }, "Right.");
  EXPECT_EQ(reference_tables(keys, Pair{}, "`[{}]`"),
            "\n## `[one]`\n\n| key | default | takes | meaning |\n| --- | --- | --- | --- |\n"
            "| `left` | `3` | an integer of at least 0 | Left \\| or not. |\n"
            "\n## `[two]`\n\n| key | default | takes | meaning |\n| --- | --- | --- | --- |\n"
            "| `right` | unset | a number | Right. |\n");
}

}  // namespace
}  // namespace nereus::config
