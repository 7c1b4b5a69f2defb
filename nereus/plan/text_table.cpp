#include "nereus/plan/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nereus::plan {

TextTable::TextTable(std::vector<std::string> header, size_t left)
    : header_(std::move(header)), left_(left) {}

void TextTable::add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

bool TextTable::used(size_t column) const {
  return std::ranges::any_of(rows_, [&](const auto& row) { return !row[column].empty(); });
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < header_.size(); ++i) {
    size_t width = header_[i].size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i)
      if (used(i)) text += fmt::format(fmt::runtime(i < left_ ? "  {:<{}}" : "  {:>{}}"), row[i], widths[i]);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  if (rows_.empty()) return out;
  line(header_);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "?";
  if (size >= 99.95) return grouped(std::llround(value));
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string grouped(int64_t value) {
  std::string digits = fmt::format("{}", value < 0 ? -value : value);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return value < 0 ? "-" + digits : digits;
}

std::string ranges(const std::vector<int32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    const int32_t step = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 1;
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] - numbers[last] == step) ++last;
    if (step > 1 && last < i + 2) last = i;  // two numbers apart are no run
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    if (last > i && step > 1) text += fmt::format(" by {}", step);
    i = last + 1;
  }
  return text;
}

std::string short_ranges(const std::vector<int32_t>& numbers, size_t width) {
  const std::string text = ranges(numbers);
  if (text.size() <= width) return text;
  const size_t comma = text.rfind(',', width);
  return fmt::format("{}, ... {} in all", text.substr(0, comma), numbers.size());
}

}  // namespace nereus::plan
