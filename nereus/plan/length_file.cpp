#include "nereus/plan/length_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string_view>

#include "nereus/config/text_file.h"

namespace nereus::plan {

namespace {

/// Without what ends a line.
std::string_view trimmed(std::string_view line) {
  const size_t last = line.find_last_not_of(" \r\t");
  return last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1);
}

/// Tokens; nothing where the text is no number of them.
std::optional<int32_t> tokens_in(std::string_view text) {
  int32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

Result<std::vector<int32_t>> read_lengths(const std::filesystem::path& file) {
  const auto text = config::read_text_file(file);
  if (!text) return pass(text);
  std::vector<int32_t> lengths;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto word = trimmed(line);
    if (word.empty() || word.front() == '#') continue;
    const auto tokens = tokens_in(word);
    if (!tokens) return fail("{}:{}: expected a number of tokens, found \"{}\"", file.string(), number, word);
    lengths.push_back(*tokens);
  }
  if (lengths.empty()) return fail("{}: expected one number of tokens a line, found none", file.string());
  return lengths;
}

void fit_lengths(std::vector<int32_t>& lengths, std::optional<double> mean, int64_t limit) {
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  const double scale = mean && sum > 0 ? *mean * static_cast<double>(lengths.size()) / sum : 1;
  for (auto& length : lengths) {
    const double scaled = std::round(length * scale);
    length = static_cast<int32_t>(std::clamp(scaled, 1.0, static_cast<double>(limit)));
  }
  std::ranges::sort(lengths);
}

}  // namespace nereus::plan
