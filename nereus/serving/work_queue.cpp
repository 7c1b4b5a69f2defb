#include "nereus/serving/work_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace nereus::serving {

void WorkQueue::push(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    urgent_ = true;
  }
  changed_.notify_one();
}

void WorkQueue::push_of_burst(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

std::deque<WorkQueue::Work> WorkQueue::take() {
  const std::lock_guard lock(mutex_);
  urgent_ = false;
  return std::exchange(queue_, {});
}

std::deque<WorkQueue::Work> WorkQueue::wait(Burst burst) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
  gather(lock, burst);
  urgent_ = false;
  return std::exchange(queue_, {});
}

void WorkQueue::gather(std::unique_lock<std::mutex>& lock, Burst burst) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](double value) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
  };
  const auto latest = Clock::now() + seconds(burst.most);
  bool more = true;
  while (more && Clock::now() < latest) {
    const size_t there = queue_.size();
    more = changed_.wait_until(lock, std::min(Clock::now() + seconds(burst.quiet), latest),
                               [&] { return urgent_ || closed_ || queue_.size() > there; });
    if (urgent_ || closed_) return;
  }
}

bool WorkQueue::closed() {
  const std::lock_guard lock(mutex_);
  return closed_ && queue_.empty();
}

}  // namespace nereus::serving
