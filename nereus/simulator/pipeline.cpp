#include "nereus/simulator/pipeline.h"

#include <algorithm>

namespace nereus::simulator {

namespace {

constexpr double kNotYet = -1;

/// The state of a 1F1B run: which pass each stage does next, and when passes ended.
class Schedule {
 public:
  Schedule(const PipelineWork& work, double hop)
      : work_(work),
        hop_(hop),
        count_(work.count()),
        stages_(work.stages()),
        forward_(stages_ * count_, kNotYet),
        backward_(forward_),
        free_(stages_, 0),
        forwards_(stages_, 0),
        backwards_(stages_, 0) {}

  std::vector<double> run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t s = 0; s < stages_; ++s)
        while (advance(s)) moved = true;
    }
    return free_;
  }

 private:
  /// Whether stage `s` could do its next pass.
  bool advance(size_t s) {
    const size_t ahead = std::min(count_, stages_ - s);
    const bool forward = forwards_[s] < count_ && forwards_[s] - backwards_[s] < ahead;
    return forward ? run_forward(s, forwards_[s]) : backwards_[s] < count_ && run_backward(s, backwards_[s]);
  }

  bool run_forward(size_t s, size_t k) {
    double ready = 0;
    if (s > 0) {
      const double before = forward_[at(s - 1, k)];
      if (before < 0) return false;
      ready = before + hop_;
    }
    free_[s] = forward_[at(s, k)] = std::max(ready, free_[s]) + work_.at(k, s).forward;
    ++forwards_[s];
    return true;
  }

  bool run_backward(size_t s, size_t k) {
    double ready = forward_[at(s, k)];
    if (s + 1 < stages_) {
      const double after = backward_[at(s + 1, k)];
      if (after < 0) return false;
      ready = after + hop_;
    }
    free_[s] = backward_[at(s, k)] = std::max(ready, free_[s]) + work_.at(k, s).backward;
    ++backwards_[s];
    return true;
  }

  size_t at(size_t s, size_t k) const { return s * count_ + k; }

  const PipelineWork& work_;
  double hop_;
  size_t count_, stages_;
  std::vector<double> forward_, backward_;    ///< end of a pass: [stages][micro-batches]
  std::vector<double> free_;                  ///< end of the stage's last pass
  std::vector<size_t> forwards_, backwards_;  ///< passes done
};

}  // namespace

std::vector<double> one_forward_one_backward(const PipelineWork& work, double hop) {
  return Schedule(work, hop).run();
}

double forward_only(const PipelineWork& work, double hop) {
  std::vector<double> end(work.stages(), 0);
  for (size_t k = 0; k < work.count(); ++k)
    for (size_t s = 0; s < end.size(); ++s)
      end[s] = std::max(end[s], s > 0 ? end[s - 1] + hop : 0) + work.at(k, s).forward;
  return end.back();
}

}  // namespace nereus::simulator
