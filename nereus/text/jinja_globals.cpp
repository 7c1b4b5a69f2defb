#include "nereus/text/jinja_globals.h"

#include "nereus/text/jinja_arguments.h"
#include "nereus/text/jinja_operators.h"
#include "nereus/text/jinja_print.h"

namespace nereus::text::jinja {
namespace {

constexpr uint64_t kMaxRange = 100'000;  // as Jinja's sandbox has it

std::tm real_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

}  // namespace

Value range(const Arguments& arguments, Budget& budget) {
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t start = bound[1] ? bound.integer(0, 0) : 0;
  const int64_t stop = bound.integer(bound[1] ? 1 : 0, 0), step = bound.integer(2, 1);
  if (step == 0) refuse("range() arg 3 must not be zero");
  const auto unsigned_of = [](int64_t value) { return static_cast<uint64_t>(value); };
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t distance =
      step > 0 ? unsigned_of(stop) - unsigned_of(start) : unsigned_of(start) - unsigned_of(stop);
  const uint64_t stride = step > 0 ? unsigned_of(step) : uint64_t{0} - unsigned_of(step);
  const uint64_t count = empty ? 0 : 1 + (distance - 1) / stride;
  if (count > kMaxRange) refuse("Range too big. The sandbox blocks ranges larger than {}.", kMaxRange);
  budget.spend(count);
  std::vector<Value> items;
  for (uint64_t i = 0; i < count; ++i)
    items.emplace_back(static_cast<int64_t>(unsigned_of(start) + i * unsigned_of(step)));
  return Value::list(std::move(items));
}

Value make_dict(const Arguments& arguments, Budget& budget) {
  if (arguments.positional.size() > 1)
    refuse("dict expected at most 1 argument, got {}", arguments.positional.size());
  DictBuilder builder(budget);
  for (const Value& source : arguments.positional) {
    require_defined(source);
    if (source.dict()) {
      builder.set_all(*source.dict());
      continue;
    }
    for (const Value& pair : iterate(source, budget)) {
      const auto parts = iterate(pair, budget);
      if (parts.size() != 2) refuse("dict() wants pairs, not {} items", parts.size());
      builder.set(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) builder.set(Value(name), value);
  return builder.build();
}

void raise_exception(const Arguments& arguments, Budget& budget) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  throw Failure{to_text(*bound[0], budget)};
}

Value strftime_now(const Arguments& arguments, const std::function<std::tm()>& local_time, Budget& budget) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  const std::string& format = bound.text(0);
  if (format.size() > 1000) refuse("strftime_now() with a format above 1000 bytes");
  budget.spend_text(format.size());
  const std::tm now = local_time ? local_time() : real_time();
  std::string out(64 * format.size() + 64, '\0');
  // Padded widths such as %999d could need more; they give nothing.
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &now));
  budget.spend_text(out.size());
  return Value(std::move(out));
}

}  // namespace nereus::text::jinja
