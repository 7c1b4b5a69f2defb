#include "nereus/elastic/slices.h"

#include <algorithm>

namespace nereus::elastic {
namespace {

void sort_unique(std::vector<int64_t>& cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
}

using Holdings = std::span<const Holding>;

/// The holdings that cross a band of rows.
void crossing(Holdings all, int64_t row_begin, int64_t row_end, std::vector<Holding>& found) {
  found.clear();
  for (const Holding& holding : all) {
    if (holding.box.row_begin <= row_begin && row_end <= holding.box.row_end) found.push_back(holding);
  }
}

/// The places of those that cross the columns.
int32_t places_over(const std::vector<Holding>& band, int64_t col_begin, int64_t col_end, PlaceSets& sets) {
  int32_t places = 0;
  for (const Holding& holding : band) {
    if (holding.box.col_begin <= col_begin && col_end <= holding.box.col_end)
      places = sets.unite(places, holding.places);
  }
  return places;
}

class Slicer {
 public:
  Slicer(int32_t tensor, const SliceInput& input, int64_t max_elements, PlaceSets& sets,
         std::vector<Cell>& cells)
      : tensor_(tensor), input_(input), max_elements_(max_elements), sets_(sets), cells_(cells) {}

  void run() {
    std::vector<int64_t> rows;
    for (const Holdings holdings : {input_.from, input_.to, input_.recreate}) {
      for (const Holding& holding : holdings) {
        rows.push_back(holding.box.row_begin);
        rows.push_back(holding.box.row_end);
      }
    }
    sort_unique(rows);
    for (size_t i = 0; i + 1 < rows.size(); ++i) cut_band(rows[i], rows[i + 1]);
  }

 private:
  void cut_band(int64_t row_begin, int64_t row_end) {
    crossing(input_.to, row_begin, row_end, to_);
    if (to_.empty()) return;
    crossing(input_.from, row_begin, row_end, from_);
    crossing(input_.recreate, row_begin, row_end, recreate_);
    cols_.clear();
    for (const auto* band : {&from_, &to_, &recreate_}) {
      for (const Holding& holding : *band) {
        cols_.push_back(holding.box.col_begin);
        cols_.push_back(holding.box.col_end);
      }
    }
    sort_unique(cols_);
    for (size_t i = 0; i + 1 < cols_.size(); ++i) add_cells(row_begin, row_end, cols_[i], cols_[i + 1]);
  }

  void add_cells(int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    Cell cell{.tensor = tensor_, .box = {row_begin, row_end, col_begin, col_end}};
    cell.targets = places_over(to_, col_begin, col_end, sets_);
    if (cell.targets == 0) return;
    cell.sources = places_over(from_, col_begin, col_end, sets_);
    cell.recreate = places_over(recreate_, col_begin, col_end, sets_);
    const int64_t rows = std::clamp<int64_t>(max_elements_ / (col_end - col_begin), 1, row_end - row_begin);
    for (int64_t row = row_begin; row < row_end; row += rows) {
      cell.box.row_begin = row;
      cell.box.row_end = std::min(row_end, row + rows);
      cells_.push_back(cell);
    }
  }

  int32_t tensor_;
  const SliceInput& input_;
  int64_t max_elements_;
  PlaceSets& sets_;
  std::vector<Cell>& cells_;
  std::vector<Holding> from_, to_, recreate_;  // of the band at hand
  std::vector<int64_t> cols_;
};

}  // namespace

void slice(int32_t tensor, const SliceInput& input, int64_t max_elements, PlaceSets& sets,
           std::vector<Cell>& cells) {
  Slicer(tensor, input, max_elements, sets, cells).run();
}

}  // namespace nereus::elastic
