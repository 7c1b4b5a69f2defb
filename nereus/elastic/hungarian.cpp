#include "nereus/elastic/hungarian.h"

#include <cstddef>
#include <limits>

namespace nereus::elastic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows are added one by one; each finds the cheapest chain of exchanges to a free column. Index 0 of rows
/// and columns stands for "none".
class Assignment {
 public:
  Assignment(const std::vector<double>& values, size_t n)
      : values_(values),
        n_(n),
        row_price_(n + 1, 0),
        col_price_(n + 1, 0),
        row_of_(n + 1, 0),
        from_(n + 1, 0) {}

  std::vector<int32_t> run() {
    for (size_t row = 1; row <= n_; ++row) add(row);
    std::vector<int32_t> columns(n_);
    for (size_t col = 1; col <= n_; ++col) columns[row_of_[col] - 1] = static_cast<int32_t>(col - 1);
    return columns;
  }

 private:
  double cost(size_t row, size_t col) const {
    return -values_[(row - 1) * n_ + col - 1] - row_price_[row] - col_price_[col];
  }

  void add(size_t row) {
    std::vector<double> shortest(n_ + 1, kInfinity);
    std::vector<bool> seen(n_ + 1, false);
    row_of_[0] = row;
    size_t col = 0;
    do {
      seen[col] = true;
      col = step(col, shortest, seen);
    } while (row_of_[col] != 0);
    while (col != 0) {
      const size_t before = from_[col];
      row_of_[col] = row_of_[before];
      col = before;
    }
  }

  /// Extends the tree of chains by the nearest column, which is returned.
  size_t step(size_t col, std::vector<double>& shortest, const std::vector<bool>& seen) {
    double delta = kInfinity;
    size_t nearest = 0;
    for (size_t next = 1; next <= n_; ++next) {
      if (seen[next]) continue;
      const double reduced = cost(row_of_[col], next);
      if (reduced < shortest[next]) shortest[next] = reduced, from_[next] = col;
      if (shortest[next] < delta) delta = shortest[next], nearest = next;
    }
    for (size_t i = 0; i <= n_; ++i) {
      if (seen[i]) {
        row_price_[row_of_[i]] += delta;
        col_price_[i] -= delta;
      } else {
        shortest[i] -= delta;
      }
    }
    return nearest;
  }

  const std::vector<double>& values_;
  size_t n_;
  std::vector<double> row_price_, col_price_;
  std::vector<size_t> row_of_, from_;  // by column
};

}  // namespace

std::vector<int32_t> best_assignment(const std::vector<double>& values, int32_t n) {
  return Assignment(values, static_cast<size_t>(n)).run();
}

}  // namespace nereus::elastic
