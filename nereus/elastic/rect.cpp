#include "nereus/elastic/rect.h"

#include <algorithm>

namespace nereus::elastic {

bool Rect::contains(const Rect& other) const {
  return other.empty() || (row_begin <= other.row_begin && other.row_end <= row_end &&
                           col_begin <= other.col_begin && other.col_end <= col_end);
}

Rect intersection(const Rect& a, const Rect& b) {
  const Rect common{std::max(a.row_begin, b.row_begin), std::min(a.row_end, b.row_end),
                    std::max(a.col_begin, b.col_begin), std::min(a.col_end, b.col_end)};
  return common.empty() ? Rect{} : common;
}

std::vector<Rect> interval_rects(const Rect& box, int64_t begin, int64_t end) {
  std::vector<Rect> rects;
  if (begin >= end) return rects;
  const int64_t width = box.cols();
  const auto add = [&](int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end) {
    const Rect rect{box.row_begin + row_begin, box.row_begin + row_end, box.col_begin + col_begin,
                    box.col_begin + col_end};
    if (!rect.empty()) rects.push_back(rect);
  };
  int64_t row = begin / width;
  const int64_t last_row = end / width, first_col = begin % width, last_col = end % width;
  if (row == last_row) {
    add(row, row + 1, first_col, last_col);
    return rects;
  }
  if (first_col > 0) {
    add(row, row + 1, first_col, width);
    ++row;
  }
  add(row, last_row, 0, width);
  add(last_row, last_row + 1, 0, last_col);
  return rects;
}

Interval even_part(int64_t total, int64_t parts, int64_t index) {
  const int64_t each = total / parts, more = total % parts;
  const int64_t begin = index * each + std::min(index, more);
  return {begin, begin + each + (index < more ? 1 : 0)};
}

}  // namespace nereus::elastic
