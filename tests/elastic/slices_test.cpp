#include "nereus/elastic/slices.h"

#include <gtest/gtest.h>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

TEST(Slices, AtTheUnionOfBoundaries) {
  PlaceSets sets;
  const int32_t a = sets.add({0}), b = sets.add({1}), both = sets.add({2, 3});
  const std::vector<Holding> from = {{{0, 6, 0, 4}, a}, {{6, 10, 0, 4}, b}};
  const std::vector<Holding> to = {{{0, 10, 0, 2}, both}, {{0, 10, 2, 3}, a}};
  std::vector<Cell> cells;
  Slicer(1000, sets).slice(7, {from, to, {}}, cells);
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].box, (Rect{0, 6, 0, 2}));
  EXPECT_EQ(cells[0].tensor, 7);
  EXPECT_EQ(cells[0].sources, a);
  EXPECT_EQ(cells[0].targets, both);
  EXPECT_EQ(cells[3].box, (Rect{6, 10, 2, 3}));
  EXPECT_EQ(cells[3].sources, b);
  EXPECT_EQ(cells[3].targets, a);
}

TEST(Slices, OverlappingHoldersAreAllNamed) {
  PlaceSets sets;
  const int32_t a = sets.add({0}), b = sets.add({1});
  const std::vector<Holding> from = {{{0, 6, 0, 1}, a}, {{4, 10, 0, 1}, b}};  // as copied KV heads are
  const std::vector<Holding> to = {{{3, 8, 0, 1}, sets.add({2})}};
  std::vector<Cell> cells;
  Slicer(1000, sets).slice(0, {from, to, {}}, cells);
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].sources, a);
  EXPECT_EQ(cells[1].sources, sets.unite(a, b));
  EXPECT_EQ(cells[1].box, (Rect{4, 6, 0, 1}));
  EXPECT_EQ(cells[2].sources, b);
}

TEST(Slices, NotLargerThanAsked) {
  PlaceSets sets;
  const std::vector<Holding> from = {{{0, 10, 0, 4}, sets.add({0})}}, to = {{{0, 10, 0, 4}, sets.add({1})}};
  std::vector<Cell> cells;
  Slicer(12, sets).slice(0, {from, to, {}}, cells);
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[3].box, (Rect{9, 10, 0, 4}));
  cells.clear();
  Slicer(1, sets).slice(0, {from, to, {}}, cells);  // whole rows all the same
  EXPECT_EQ(cells.size(), 10U);
}

TEST(Slices, NobodyHolds) {
  PlaceSets sets;
  const std::vector<Holding> to = {{{0, 2, 0, 2}, sets.add({1})}};
  std::vector<Cell> cells;
  Slicer(100, sets).slice(0, {{}, to, {}}, cells);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].sources, 0);
}

// Every element of every target box lies in exactly one cell, inside each box that names the cell's places.
TEST(Slices, CoverEveryTargetOnce) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    test::Dice dice(seed);
    PlaceSets sets;
    const auto boxes = [&] {
      std::vector<Holding> holdings;
      for (int32_t i = dice.from(0, 4); i > 0; --i) {
        const int64_t row = dice.below(6), col = dice.below(6);
        holdings.push_back(
            {{row, row + dice.from(1, 4), col, col + dice.from(1, 4)}, sets.add({dice.below(5)})});
      }
      return holdings;
    };
    const auto from = boxes(), to = boxes();
    std::vector<Cell> cells;
    Slicer(dice.from(1, 9), sets).slice(0, {from, to, {}}, cells);
    std::vector<int32_t> covered(100, 0);
    for (const Cell& cell : cells) {
      for (const auto& [holdings, set] : {std::pair(&from, cell.sources), std::pair(&to, cell.targets)}) {
        int32_t expected = 0;
        for (const Holding& holding : *holdings) {
          const Rect common = intersection(holding.box, cell.box);
          EXPECT_TRUE(common.empty() || common == cell.box) << "a boundary cuts a cell";
          if (!common.empty()) expected = sets.unite(expected, holding.places);
        }
        EXPECT_EQ(set, expected);
      }
      for (int64_t row = cell.box.row_begin; row < cell.box.row_end; ++row) {
        for (int64_t col = cell.box.col_begin; col < cell.box.col_end; ++col)
          ++covered[static_cast<size_t>(row * 10 + col)];
      }
    }
    for (int64_t row = 0; row < 10; ++row) {
      for (int64_t col = 0; col < 10; ++col) {
        bool wanted = false;
        for (const Holding& holding : to)
          wanted = wanted || holding.box.contains({row, row + 1, col, col + 1});
        ASSERT_EQ(covered[static_cast<size_t>(row * 10 + col)], wanted ? 1 : 0);
      }
    }
  }
}

}  // namespace
}  // namespace nereus::elastic
