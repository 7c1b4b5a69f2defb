#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace nereus::serving {

/// How long work that comes in bursts is gathered before its thread, which has nothing else to do, begins.
struct Burst {
  double quiet = 0;  ///< seconds without more of it that end the wait
  double most = 0;   ///< seconds in all; 0: it begins at once
};

/// Work in turn for one thread. Thread-safe.
class WorkQueue {
 public:
  using Work = std::function<void()>;

  /// What nobody waits behind: it begins as soon as its thread is there for it.
  void push(Work work);
  /// One of many that may come together, for which it pays to begin together.
  void push_of_burst(Work work);
  /// No more comes; what is there is still given.
  void close();

  /// What is there; nothing where there is none.
  std::deque<Work> take();
  /// Waits until there is some, and for the rest of its burst where only such is there. Nothing once closed
  /// and empty.
  std::deque<Work> wait(Burst burst = {});
  bool closed();

 private:
  void gather(std::unique_lock<std::mutex>& lock, Burst burst);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool urgent_ = false;  // there is work that came by `push`
  bool closed_ = false;
};

}  // namespace nereus::serving
