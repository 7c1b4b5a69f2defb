#pragma once

#include <string>
#include <vector>

namespace nereus::plan {

/// Columns of text, aligned: those named in `left` to the left, others to the right. Columns whose cells are
/// all empty are left out.
class TextTable {
 public:
  /// One name a column; `left` columns from the first are text, the others numbers.
  TextTable(std::vector<std::string> header, size_t left);
  /// REQUIRES: as many cells as columns.
  void add(std::vector<std::string> row);
  /// Lines of two leading spaces, each ended; nothing where there are no rows.
  std::string text() const;

  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  const std::vector<std::string>& header() const { return header_; }
  size_t left() const { return left_; }
  /// Whether any row has a cell in this column.
  bool used(size_t column) const;

 private:
  std::vector<std::string> header_;
  size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

/// "8.35", "24.1", "145", "12,345": three digits or whole numbers.
std::string short_number(double value);
/// "12,345,678".
std::string grouped(int64_t value);
/// "0-3, 8, 10-30 by 2" of numbers in ascending order.
std::string ranges(const std::vector<int32_t>& numbers);
/// The same, cut after `width` letters: "0-1, 4-5, ... 64 in all".
std::string short_ranges(const std::vector<int32_t>& numbers, size_t width = 28);

}  // namespace nereus::plan
