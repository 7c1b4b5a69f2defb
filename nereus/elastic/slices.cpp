#include "nereus/elastic/slices.h"

#include <algorithm>

namespace nereus::elastic {
namespace {

void sort_unique(std::vector<int64_t>& cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

using Holdings = std::span<const Holding>;

/// The holdings that cross the rows of `band`.
void crossing(Holdings all, const Rect& band, std::vector<Holding>& found) {
  found.clear();
  for (const Holding& holding : all) {
    if (holding.box.row_begin <= band.row_begin && band.row_end <= holding.box.row_end)
      found.push_back(holding);
  }
}

/// The places of those that cross the columns of `cell`.
int32_t places_over(const std::vector<Holding>& band, const Rect& cell, PlaceSets& sets) {
  int32_t places = 0;
  for (const Holding& holding : band) {
    if (holding.box.col_begin <= cell.col_begin && cell.col_end <= holding.box.col_end)
      places = sets.unite(places, holding.places);
  }
  return places;
}

}  // namespace

void Slicer::slice(int32_t tensor, const SliceInput& input, std::vector<Cell>& cells) {
  rows_.clear();
  for (const Holdings holdings : {input.from, input.to, input.recreate}) {
    for (const Holding& holding : holdings) {
      rows_.push_back(holding.box.row_begin);
      rows_.push_back(holding.box.row_end);
    }
  }
  sort_unique(rows_);
  for (size_t i = 0; i + 1 < rows_.size(); ++i)
    cut_band(input, {.tensor = tensor, .box = {rows_[i], rows_[i + 1], 0, 0}}, cells);
}

/// `band`: its box has the rows.
void Slicer::cut_band(const SliceInput& input, Cell band, std::vector<Cell>& cells) {
  crossing(input.to, band.box, to_);
  if (to_.empty()) return;
  crossing(input.from, band.box, from_);
  crossing(input.recreate, band.box, recreate_);
  cols_.clear();
  for (const auto* holdings : {&from_, &to_, &recreate_}) {
    for (const Holding& holding : *holdings) {
      cols_.push_back(holding.box.col_begin);
      cols_.push_back(holding.box.col_end);
    }
  }
  sort_unique(cols_);
  for (size_t i = 0; i + 1 < cols_.size(); ++i) {
    band.box.col_begin = cols_[i];
    band.box.col_end = cols_[i + 1];
    add_cells(band, cells);
  }
}

void Slicer::add_cells(Cell cell, std::vector<Cell>& cells) {
  cell.targets = places_over(to_, cell.box, sets_);
  if (cell.targets == 0) return;
  cell.sources = places_over(from_, cell.box, sets_);
  cell.recreate = places_over(recreate_, cell.box, sets_);
  const int64_t row_end = cell.box.row_end;
  const int64_t rows = std::clamp<int64_t>(max_elements_ / cell.box.cols(), 1, cell.box.rows());
  for (int64_t row = cell.box.row_begin; row < row_end; row += rows) {
    cell.box.row_begin = row;
    cell.box.row_end = std::min(row_end, row + rows);
    cells.push_back(cell);
  }
}

}  // namespace nereus::elastic
