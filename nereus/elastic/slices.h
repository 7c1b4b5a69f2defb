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

/// Cuts tensors at the union of the boundaries of all holdings, first into bands of rows and then each band
/// at the columns of the boxes that cross it. Not thread-safe.
class Slicer {
 public:
  /// No cell has more than `max_elements`, as far as whole rows allow. REQUIRES: max_elements > 0.
  Slicer(int64_t max_elements, PlaceSets& sets) : max_elements_(max_elements), sets_(sets) {}

  /// Appends the cells of one tensor that some place needs; together they cover every target box once.
  void slice(int32_t tensor, const SliceInput& input, std::vector<Cell>& cells);

 private:
  void cut_band(const SliceInput& input, Cell band, std::vector<Cell>& cells);
  void add_cells(Cell cell, std::vector<Cell>& cells);

  int64_t max_elements_;
  PlaceSets& sets_;
  std::vector<int64_t> rows_, cols_;           // boundaries of the tensor, and of the band at hand
  std::vector<Holding> from_, to_, recreate_;  // of the band at hand
};

}  // namespace nereus::elastic
