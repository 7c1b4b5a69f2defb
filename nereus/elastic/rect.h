#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace nereus::elastic {

/// A half-open box of a tensor of one or two dims, in the tensor's global coordinates. A vector has one
/// column. It is cluster::Box without allocations: a transition holds many thousands.
struct Rect {
  int64_t row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;

  int64_t rows() const { return row_end - row_begin; }
  int64_t cols() const { return col_end - col_begin; }
  int64_t elements() const { return empty() ? 0 : rows() * cols(); }
  bool empty() const { return row_end <= row_begin || col_end <= col_begin; }
  /// Whether `other` lies inside. An empty one lies anywhere.
  bool contains(const Rect& other) const;
  friend auto operator<=>(const Rect&, const Rect&) = default;
};

/// The common part; empty where there is none.
Rect intersection(const Rect& a, const Rect& b);

/// The elements [begin, end) of `box`, counted row by row, as one to three boxes in that order: what an
/// interval of a flat buffer is in the tensor's coordinates. REQUIRES: 0 <= begin <= end <= box.elements().
std::vector<Rect> interval_rects(const Rect& box, int64_t begin, int64_t end);

/// Part `index` of [0, total) in `parts` parts, as even as they come, larger ones first; may be empty.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};
Interval even_part(int64_t total, int64_t parts, int64_t index);

}  // namespace nereus::elastic
