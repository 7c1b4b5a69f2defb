#include "nereus/control/deadline.h"

#include <fmt/format.h>

#include <algorithm>

namespace nereus::control {
namespace {

constexpr double kSilence = 0.1;  // of the deadline: a rank that is silent for longer is stuck

std::string describe(const Phase& phase, const RankProgress& rank, double now) {
  return fmt::format("rank {} on device {} ({:.0f} % done, silent for {:.0f} s)", rank.rank, rank.device,
                     100 * rank.done, now - std::max(rank.heard, phase.start));
}

}  // namespace

double deadline_seconds(double predicted, double deviation, const DeadlineOptions& options) {
  return std::max(options.least, predicted * (options.factor + options.deviations * deviation));
}

std::optional<Overdue> overdue(const Phase& phase, double now) {
  const double taken = now - phase.start;
  if (taken <= phase.deadline) return std::nullopt;
  std::vector<RankProgress> stuck, slow;
  size_t finished = 0;
  for (const RankProgress& rank : phase.ranks) {
    if (rank.finished) {
      ++finished;
    } else {
      (now - std::max(rank.heard, phase.start) > kSilence * phase.deadline ? stuck : slow).push_back(rank);
    }
  }
  std::vector<RankProgress>& named = stuck.empty() ? slow : stuck;
  if (named.empty()) return std::nullopt;
  std::stable_sort(named.begin(), named.end(),
                   [](const RankProgress& a, const RankProgress& b) { return a.heard < b.heard; });
  Overdue result;
  std::string list;
  for (const RankProgress& rank : named) {
    result.stuck.push_back(rank.rank);
    if (result.stuck.size() <= 4) list += (list.empty() ? "" : ", ") + describe(phase, rank, now);
  }
  if (named.size() > 4) list += fmt::format(" and {} more", named.size() - 4);
  result.text = fmt::format("{}: {:.0f} s of at most {:.0f} s; {} {}; {} of {} ranks have finished",
                            plan::to_string(phase.what), taken, phase.deadline, list,
                            stuck.empty() ? "still works" : "is stuck", finished, phase.ranks.size());
  return result;
}

}  // namespace nereus::control
