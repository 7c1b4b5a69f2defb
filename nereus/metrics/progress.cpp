#include "nereus/metrics/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "nereus/metrics/draw.h"

namespace nereus::metrics {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;
constexpr int kSparklineWidth = 40;
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kParts = {{
    {"perf/rollout_wait_s", "wait"},
    {"perf/generate_s", "generate"},
    {"perf/reward_s", "reward"},
    {"perf/logprob_s", "logprob"},
    {"perf/train_s", "train"},
    {"perf/sync_s", "sync"},
}};

/// "generate 1.20, train 0.81": the parts of a step that were measured, in seconds.
std::string parts(const Record& record) {
  std::string text;
  for (const auto& [metric, label] : kParts)
    if (const auto value = record.get(metric); value && std::isfinite(*value))
      text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", label, *value);
  return text;
}

/// "LABEL VALUE", or "" where the step does not have the metric.
std::string field(const Record& record, std::string_view metric, std::string_view label) {
  const auto value = record.get(metric);
  return value ? fmt::format("{} {}", label, number(*value)) : "";
}

std::string join(std::initializer_list<std::string> fields) {
  std::string text;
  for (const std::string& one : fields)
    if (!one.empty()) text += (text.empty() ? "" : "  ") + one;
  return text;
}

std::optional<double> step_seconds(const Record& record) {
  const auto seconds = record.get("perf/step_s");
  return seconds ? seconds : record.get("step_time");
}

}  // namespace

Progress::Progress(std::ostream& out, const Clock& clock, TerminalOptions options)
    : clock_(clock), terminal_(out, options) {}

void Progress::begin(int64_t total_steps, int64_t done_steps) {
  total_ = total_steps;
  first_ = done_ = done_steps;
  started_ = clock_.now();
  draw(true);
}

void Progress::activity(std::string_view name, int64_t done, int64_t total) {
  const bool changed = activity_ != name;
  activity_ = name;
  activity_done_ = done;
  activity_total_ = total;
  draw(changed);
}

void Progress::step(int64_t step, const Record& record) {
  done_ = step;
  last_ = record;
  activity_.clear();
  if (const auto reward = record.get("reward")) rewards_.push_back(*reward);
  if (terminal_.options().live)
    draw(true);
  else
    terminal_.print(plain_line());
}

void Progress::note(std::string_view text) {
  terminal_.print(text);
  draw(true);
}

void Progress::end() {
  activity_.clear();
  draw(true);
  terminal_.keep();
}

void Progress::draw(bool force) {
  if (!terminal_.options().live || (!force && clock_.now() - drawn_at_ < kRedrawSeconds)) return;
  drawn_at_ = clock_.now();
  terminal_.draw(block());
}

std::vector<std::string> Progress::block() const {
  std::vector<std::string> lines = {headline()};
  for (std::string line : {reward_line(), length_line(), time_line()})
    if (!line.empty()) lines.push_back(std::move(line));
  if (activity_.empty()) return lines;
  std::string now = activity_;
  if (activity_total_ > 0)
    now += fmt::format(" {}/{}", activity_done_, activity_total_);
  else if (activity_done_ > 0)
    now += fmt::format(" {}", activity_done_);
  lines.push_back(terminal_.paint("2", now));
  return lines;
}

std::string Progress::headline() const {
  const double fraction = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 0;
  return fmt::format("{} {} {:.0f} %  {} passed, {} left",
                     terminal_.paint("1", fmt::format("step {}/{}", done_, total_)),
                     terminal_.paint("32", bar(fraction, kBarWidth, terminal_.options().unicode)),
                     fraction * 100, duration(clock_.now() - started_), duration(seconds_left()));
}

std::string Progress::reward_line() const {
  const auto reward = last_.get("reward");
  if (!reward) return "";
  const std::string course = sparkline(rewards_, kSparklineWidth, terminal_.options().unicode);
  return join({fmt::format("reward {}", terminal_.paint("1", number(*reward))), terminal_.paint("36", course),
               field(last_, "frac_reward_zero_std", "groups without spread")});
}

std::string Progress::length_line() const {
  const auto mean = last_.get("completions/mean_length");
  if (!mean) return "";
  std::string range;
  const auto low = last_.get("completions/min_length"), high = last_.get("completions/max_length");
  if (low && high) range = fmt::format(" ({} to {})", number(*low), number(*high));
  return join({fmt::format("length {}{}", number(*mean), range),
               field(last_, "completions/clipped_ratio", "cut off"), field(last_, "entropy", "entropy"),
               field(last_, "kl", "kl"), field(last_, "grad_norm", "gradient")});
}

std::string Progress::time_line() const {
  const auto seconds = step_seconds(last_);
  if (!seconds) return "";
  return join({fmt::format("time   {:.2f} s", *seconds), parts(last_),
               field(last_, "perf/tokens_per_s", "tokens/s")});
}

std::string Progress::plain_line() const {
  std::string time;
  if (const auto seconds = step_seconds(last_)) {
    const std::string detail = parts(last_);
    time = fmt::format("{:.2f} s{}", *seconds, detail.empty() ? "" : fmt::format(" ({})", detail));
  }
  return join({fmt::format("step {}/{}", done_, total_), field(last_, "reward", "reward"),
               field(last_, "completions/mean_length", "length"),
               field(last_, "completions/clipped_ratio", "cut off"), time,
               done_ < total_ ? fmt::format("left {}", duration(seconds_left())) : ""});
}

double Progress::seconds_left() const {
  if (done_ <= first_) return std::numeric_limits<double>::quiet_NaN();
  const double each = (clock_.now() - started_) / static_cast<double>(done_ - first_);
  return each * static_cast<double>(std::max<int64_t>(total_ - done_, 0));
}

}  // namespace nereus::metrics
