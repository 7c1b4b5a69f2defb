#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "nereus/base/result.h"

namespace nereus::rollout {

/// How far samples may lag behind the policy that they train.
struct StalenessOptions {
  int64_t batch = 1;          ///< groups of a step
  int64_t max_staleness = 4;  ///< trainer's version minus the version that sampled, when a group is trained
};

/// Joins generation and training: whole groups in, batches of a step out, with a bound on staleness. A group
/// is admitted only while all that are not trained yet can still be trained within the bound: with the policy
/// `published` and `version` steps trained, running + queued + taken ≤ (max_staleness + published + 1 -
/// version) · batch. Counts of the past don't enter, so a resumed run keeps the bound (AReaL's rule, Fu et
/// al. 2025, counts all groups since the start). Thread-safe; nothing is computed under its lock.
template <class Group>
class StalenessQueue {
 public:
  explicit StalenessQueue(StalenessOptions options) : options_(options) {}

  // --- the side that generates

  /// Counts one more running group, where the bound allows it.
  bool admit() {
    const std::lock_guard lock(mutex_);
    if (closed_ || untrained() + 1 > room()) return false;
    ++running_;
    return true;
  }

  /// Waits until the bound may allow another group, at most `timeout`.
  void wait_for_room(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return closed_ || untrained() + 1 <= room(); });
  }

  /// A running group is done; the policy of `version` sampled it (its oldest token).
  void push(Group group, int64_t version) {
    {
      const std::lock_guard lock(mutex_);
      --running_;
      insert(std::move(group), version);
    }
    changed_.notify_all();
  }

  /// A running group will not come (its completions failed, or it teaches nothing).
  void abandon() {
    {
      const std::lock_guard lock(mutex_);
      --running_;
    }
    changed_.notify_all();
  }

  /// Ends the queue: the trainer's next take fails with this error (generation died).
  void fail(Error error) {
    {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
      closed_ = true;
    }
    changed_.notify_all();
  }

  // --- the side that trains

  struct Taken {
    std::vector<Group> groups;  ///< `batch` of them, those of the oldest policy first
    std::vector<Group> stale;   ///< dropped on the way: their prompts should be queued again
    std::vector<int64_t> staleness;
    std::vector<double> seconds_queued;
  };

  /// A step's groups, or nothing after `timeout`: then `counts` tells who waits for what. Groups beyond the
  /// bound are dropped; those dropped before a time-out come with the next batch. Error: that of `fail`.
  Result<std::optional<Taken>> take(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] {
      drop_stale();
      return closed_ || std::ssize(queue_) >= options_.batch;
    };
    changed_.wait_for(lock, timeout, ready);
    if (error_) return tl::unexpected(*error_);
    if (std::ssize(queue_) < options_.batch) return std::nullopt;
    Taken taken;
    taken.stale = std::exchange(stale_, {});
    for (int64_t i = 0; i < options_.batch; ++i) {
      Item item = std::move(queue_.front());
      queue_.pop_front();
      taken.groups.push_back(std::move(item.group));
      taken.staleness.push_back(version_ - item.version);
      taken.seconds_queued.push_back(std::chrono::duration<double>(Clock::now() - item.since).count());
    }
    taken_ = options_.batch;
    return taken;
  }

  /// `version` steps are trained, among them the groups taken last.
  void trained(int64_t version) {
    {
      const std::lock_guard lock(mutex_);
      taken_ = 0;
      version_ = version;
    }
    changed_.notify_all();
  }

  /// Groups admitted from now on are sampled by the policy of `version`.
  void published(int64_t version) {
    {
      const std::lock_guard lock(mutex_);
      published_ = version;
    }
    changed_.notify_all();
  }

  /// Wakes every wait; nothing is admitted any more.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  struct Counts {
    int64_t queued = 0, running = 0, room = 0, dropped = 0;
  };
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return {std::ssize(queue_), running_, room(), dropped_};
  }

  /// Calls f(group, version) for each queued group, in the order of training, under the lock: for a
  /// checkpoint.
  template <class F>
  void for_each_queued(const F& f) const {
    const std::lock_guard lock(mutex_);
    for (const Item& item : queue_) f(item.group, item.version);
  }

  /// A queued group of a checkpoint, without having been admitted.
  void restore(Group group, int64_t version) {
    const std::lock_guard lock(mutex_);
    insert(std::move(group), version);
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    Group group;
    int64_t version;
    Clock::time_point since;
  };

  int64_t untrained() const { return std::ssize(queue_) + running_ + taken_; }
  int64_t room() const { return (options_.max_staleness + published_ + 1 - version_) * options_.batch; }

  /// By the policy that sampled it, then by when it came: one that took long must be trained soonest.
  void insert(Group group, int64_t version) {
    const auto newer = std::ranges::upper_bound(queue_, version, {}, &Item::version);
    queue_.insert(newer, {std::move(group), version, Clock::now()});
  }

  void drop_stale() {
    for (auto item = queue_.begin(); item != queue_.end();) {
      if (version_ - item->version <= options_.max_staleness) {
        ++item;
        continue;
      }
      stale_.push_back(std::move(item->group));
      item = queue_.erase(item);
      ++dropped_;
    }
  }

  StalenessOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::vector<Group> stale_;
  int64_t running_ = 0, taken_ = 0, version_ = 0, published_ = 0, dropped_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;
};

}  // namespace nereus::rollout
