#include "nereus/elastic/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace nereus::elastic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Graph, KeepsPredecessors) {
  Graph graph;
  const int32_t a = graph.add({.action = Action::allocate}, {});
  const int32_t b = graph.add({.action = Action::transfer}, std::array{a});
  const int32_t c = graph.add({.action = Action::commit}, std::array{a, b});
  EXPECT_THAT(graph.predecessors(a), IsEmpty());
  EXPECT_THAT(graph.predecessors(b), ElementsAre(a));
  EXPECT_THAT(graph.predecessors(c), ElementsAre(a, b));
  EXPECT_EQ(graph.count(), 3);
  EXPECT_EQ(name_of(graph.nodes[1].action), "transfer");
}

}  // namespace
}  // namespace nereus::elastic
