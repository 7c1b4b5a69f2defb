#include "nereus/plan/timeline.h"

#include <algorithm>

namespace nereus::plan {

namespace {

bool overlap(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

std::vector<int32_t> sorted(std::vector<int32_t> devices) {
  std::ranges::sort(devices);
  return devices;
}

/// Puts spans one after another, and remembers when each kind of work is done.
class Schedule {
 public:
  explicit Schedule(bool asynchronous) : asynchronous_(asynchronous) {}

  void stage(const StageTime& time, const Placement& placement) {
    const auto devices = sorted(placement.devices);
    const double begin = std::max(ready(time.what.stage), free(devices));
    const double end = begin + time.total();
    double& done = done_[static_cast<size_t>(time.what.stage)];
    done = std::max(done, end);
    spans_.push_back({to_string(time.what), devices, begin, end});
  }

  void rewards(double seconds) {
    const double begin = ready(Stage::infer);
    rewards_ = begin + seconds;
    if (seconds > 0) spans_.push_back({"rewards", {}, begin, rewards_});
  }

  void weight_sync(double seconds) {
    const double begin = done_[static_cast<size_t>(Stage::train)];
    if (seconds > 0) spans_.push_back({"weight sync", {}, begin, begin + seconds});
  }

  std::vector<Span> take() { return std::move(spans_); }

 private:
  /// When the work that a stage needs is done.
  double ready(Stage stage) const {
    const double generated = asynchronous_ ? 0 : done_[static_cast<size_t>(Stage::generate)];
    if (stage == Stage::generate) return 0;
    if (stage == Stage::infer) return generated;
    return std::max({generated, done_[static_cast<size_t>(Stage::infer)], rewards_});
  }

  /// When the last span on any of the devices ends.
  double free(const std::vector<int32_t>& devices) const {
    double end = 0;
    for (const auto& span : spans_)
      if (overlap(span.devices, devices)) end = std::max(end, span.end);
    return end;
  }

  bool asynchronous_;
  double done_[3] = {0, 0, 0};  // by stage
  double rewards_ = 0;
  std::vector<Span> spans_;
};

}  // namespace

std::vector<Span> timeline(const Job& job, const Plan& plan, const StepTime& time) {
  Schedule schedule(job.asynchronous);
  for (const Stage stage : {Stage::generate, Stage::infer, Stage::train}) {
    for (const auto& each : time.stages) {
      const Placement* placement = plan.find(each.what);
      if (each.what.stage == stage && placement != nullptr) schedule.stage(each, *placement);
    }
    if (stage == Stage::generate) schedule.rewards(time.reward);
  }
  schedule.weight_sync(time.weight_sync);
  return schedule.take();
}

}  // namespace nereus::plan
