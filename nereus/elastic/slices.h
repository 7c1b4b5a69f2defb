#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nereus/elastic/state.h"

namespace nereus::elastic {

/// A box that no boundary of the old or the new state cuts: held and needed as a whole.
struct Cell {
  int32_t tensor = 0;
  Rect box;
  int32_t sources = 0;   ///< set of the places that hold it
  int32_t targets = 0;   ///< set of the places that need it
  int32_t recreate = 0;  ///< set of the places that can make it from what they hold of another lane then
};

/// Boxes of one tensor to be cut.
struct SliceInput {
  std::span<const Holding> from = {}, to = {}, recreate = {};
};

/// Cuts one tensor at the union of the boundaries of all holdings, first into bands of rows and then each
/// band at the columns of the boxes that cross it. Appends the cells that some place needs; together they
/// cover every target box once. No cell has more than `max_elements`, as far as whole rows allow.
/// REQUIRES: max_elements > 0.
void slice(int32_t tensor, const SliceInput& input, int64_t max_elements, PlaceSets& sets,
           std::vector<Cell>& cells);

}  // namespace nereus::elastic
