#include "nereus/text/jinja_print.h"

#include <gtest/gtest.h>

#include <limits>

namespace nereus::text::jinja {
namespace {

// The repr() that Python 3.11 gives.
TEST(JinjaPrint, FloatsAsPython) {
  for (const auto& [value, text] :
       std::vector<std::pair<double, const char*>>{{0.0, "0.0"},
                                                   {-0.0, "-0.0"},
                                                   {1.0, "1.0"},
                                                   {0.1, "0.1"},
                                                   {1e15, "1000000000000000.0"},
                                                   {1e16, "1e+16"},
                                                   {123456789012345678.0, "1.2345678901234568e+17"},
                                                   {1e-4, "0.0001"},
                                                   {1e-5, "1e-05"},
                                                   {1.5e-10, "1.5e-10"},
                                                   {1e100, "1e+100"},
                                                   {5e-324, "5e-324"},
                                                   {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                   {1.0 / 3, "0.3333333333333333"},
                                                   {std::numeric_limits<double>::infinity(), "inf"},
                                                   {-std::numeric_limits<double>::infinity(), "-inf"},
                                                   {std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    EXPECT_EQ(float_repr(value), text);
  }
}

TEST(JinjaPrint, JsonThatJsonCannotHold) {
  Budget budget(1000);
  EXPECT_EQ(to_json(Value(std::numeric_limits<double>::quiet_NaN()), {}, budget), "NaN");
  EXPECT_EQ(to_json(Value(-std::numeric_limits<double>::infinity()), {}, budget), "-Infinity");
  EXPECT_THROW(to_json(Value(Undefined{"x", {}}), {}, budget), Failure);
  EXPECT_THROW(to_json(Value(std::make_shared<Namespace>()), {}, budget), Failure);
}

// A value that holds another twice, thirty times over, would print as gigabytes.
TEST(JinjaPrint, SpendsTheBudget) {
  Value value = Value::list({});
  for (int i = 0; i < 30; ++i) value = Value::list({value, value});
  Budget budget(100000);
  EXPECT_THROW(repr(value, budget), Failure);
}

}  // namespace
}  // namespace nereus::text::jinja
