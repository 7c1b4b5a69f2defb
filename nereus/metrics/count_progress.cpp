#include "nereus/metrics/count_progress.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "nereus/metrics/draw.h"

namespace nereus::metrics {
namespace {

constexpr double kLiveSeconds = 0.1;
constexpr double kPlainSeconds = 10.0;
constexpr int kCountBarWidth = 24;

}  // namespace

CountProgress::CountProgress(std::ostream& out, const Clock& clock, TerminalOptions options, std::string name,
                             int64_t total)
    : clock_(clock),
      terminal_(out, options),
      name_(std::move(name)),
      total_(total),
      started_(clock.now()),
      shown_at_(clock.now()) {}

void CountProgress::update(int64_t done) {
  const double now = clock_.now();
  const bool live = terminal_.options().live;
  if (now - shown_at_ < (live ? kLiveSeconds : kPlainSeconds)) return;
  shown_at_ = now;
  const double fraction = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0;
  const double left =
      fraction > 0 ? (now - started_) * (1 - fraction) / fraction : std::numeric_limits<double>::quiet_NaN();
  if (live)
    terminal_.draw(
        {fmt::format("{} {} {}/{}  {} left", name_,
                     terminal_.paint("32", bar(fraction, kCountBarWidth, terminal_.options().unicode)), done,
                     total_, duration(left))});
  else
    terminal_.print(fmt::format("{} {}/{}  left {}", name_, done, total_, duration(left)));
}

void CountProgress::end() {
  terminal_.draw({});
}

}  // namespace nereus::metrics
