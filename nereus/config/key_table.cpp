#include "nereus/config/key_table.h"

#include <cmath>
#include <cstdlib>

namespace nereus::config {

namespace {

tl::unexpected<Error> unfit(const std::string& expected, const ConfigValue& found) {
  return fail("expected {}, found {}", expected, to_toml(found));
}

}  // namespace

bool Bounds::holds(double value) const {
  if (std::isnan(value)) return false;
  if (low && (above_low ? value <= *low : value < *low)) return false;
  return !high || value <= *high;
}

std::string Bounds::words(const std::string& noun) const {
  if (low && high && !above_low) return fmt::format("{} from {} to {}", noun, *low, *high);
  std::string text = noun;
  if (low) text += fmt::format("{}{}", above_low ? " greater than " : " of at least ", *low);
  if (high) text += fmt::format("{}{}", low ? " and at most " : " of at most ", *high);
  return text;
}

Bounds at_least(double low) {
  return {low, std::nullopt, false};
}
Bounds above(double low) {
  return {low, std::nullopt, true};
}
Bounds between(double low, double high) {
  return {low, high, false};
}

Result<bool> read_boolean(const ConfigValue& value, const std::string& expected) {
  if (const auto* v = std::get_if<bool>(&value)) return *v;
  return unfit(expected, value);
}

Result<int64_t> read_integer(const ConfigValue& value, const Bounds& bounds, const std::string& expected) {
  const auto* v = std::get_if<int64_t>(&value);
  if (v == nullptr || !bounds.holds(static_cast<double>(*v))) return unfit(expected, value);
  return *v;
}

Result<double> read_number(const ConfigValue& value, const Bounds& bounds, const std::string& expected) {
  double number = 0;
  if (const auto* v = std::get_if<double>(&value))
    number = *v;
  else if (const auto* w = std::get_if<int64_t>(&value))
    number = static_cast<double>(*w);
  else
    return unfit(expected, value);
  if (!bounds.holds(number) || std::isinf(number)) return unfit(expected, value);
  return number;
}

Result<std::string> read_text(const ConfigValue& value, const std::string& expected) {
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  return unfit(expected, value);
}

Result<std::vector<std::string>> read_list(const ConfigValue& value, const std::string& expected) {
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return *v;
  return unfit(expected, value);
}

double shortest(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

}  // namespace nereus::config
