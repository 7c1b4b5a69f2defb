#pragma once

#include <list>
#include <vector>

#include "nereus/generation/block_pool.h"
#include "nereus/generation/sequence.h"

namespace nereus::generation {

/// Rows to compute in a step, of a group's prompt (sequence null) or of a sequence: tokens that are not in
/// the cache yet, or the first of them where one step does not take all.
struct Run {
  GroupState* group = nullptr;
  Sequence* sequence = nullptr;
  int64_t first = 0, rows = 0;  ///< tokens [first, first + rows) of the prompt, or of the completion
};

struct Schedule {
  std::vector<Run> runs;
  std::vector<Sequence*> fresh;  ///< admitted without tokens: their first comes from the prompt's last row
};

struct SchedulerOptions {
  int64_t max_running = 64, block_tokens = 16;
  int64_t prefill_tokens = 2048;  ///< tokens a step besides the newest one of each running sequence
  bool prefix_cache = false;
};

/// Decides what runs: admits in the order of arrival while blocks are free, and when they run out gives up
/// idle prompts first, then the sequence admitted last, which is computed again later. With a prefix cache a
/// prompt's full blocks are found by later prompts, and by those that begin in the same step; those of an
/// answer once it is kept. What is longer than a step takes is computed in several, those that run meanwhile
/// going on; shorter ones are not divided. Not thread-safe.
class Scheduler {
 public:
  Scheduler(SchedulerOptions options, int64_t total_blocks)
      : options_(options), pool_(total_blocks, options.block_tokens) {}

  void add(rollout::Request request, rollout::TokenCallback on_token, Policy policy = {});
  /// What to compute now; the blocks for it are taken. Empty only where nothing waits or runs.
  Schedule next();
  /// The full blocks of prompt and answer can be found from now on. REQUIRES: a running sequence, and the
  /// prompt's end before its first token (`Sequence::lead`).
  void keep(const Sequence& sequence);
  /// Moves a running sequence to its group's finished ones and frees its blocks.
  void finish(Sequence& sequence);
  /// Ends everything that a group still does.
  void cancel(uint64_t prompt_id);
  /// Everything under way that has the policy of this serial goes on under another: its tokens stay, their
  /// keys and values are computed again.
  void change_policy(uint64_t serial, const Policy& policy);
  /// Takes out the groups that are done.
  std::vector<rollout::Group> take_finished();
  /// Cached prefixes of this policy (Policy::serial) are true no longer; or all are.
  void forget(uint64_t policy) { pool_.forget(policy); }
  void forget_all() { pool_.forget_all(); }

  bool idle() const { return groups_.empty(); }
  bool knows(uint64_t prompt_id) const;
  int64_t running() const { return static_cast<int64_t>(running_.size()); }
  int64_t waiting() const;
  int64_t preemptions() const { return preemptions_; }
  /// Prompt tokens looked up in the prefix cache, and those found there.
  int64_t prefix_queries() const { return prefix_queries_; }
  int64_t prefix_hits() const { return prefix_hits_; }
  const BlockPool& pool() const { return pool_; }
  /// Blocks of one completion in all.
  int64_t blocks_for(int64_t prompt, int64_t answer) const {
    return blocks_for(prompt) + blocks_for(lead(prompt) + answer);
  }

 private:
  int64_t blocks_for(int64_t tokens) const {
    return (tokens + options_.block_tokens - 1) / options_.block_tokens;
  }
  int64_t lead(int64_t prompt) const { return options_.prefix_cache ? prompt % options_.block_tokens : 0; }
  bool take_blocks(Sequence& sequence);
  bool reclaim_prompt(const GroupState* keep);
  void preempt(Sequence& sequence);
  void schedule_running(Schedule& schedule);
  void admit(Schedule& schedule);
  bool admit_next(GroupState& group, Schedule& schedule);
  bool fits(const GroupState& group);
  void begin_prompt(GroupState& group);
  bool run_prompt(GroupState& group, Schedule& schedule);
  void run_sequence(Sequence& sequence, Schedule& schedule);
  std::list<Sequence>::iterator place(Sequence& sequence);

  SchedulerOptions options_;
  BlockPool pool_;
  std::list<GroupState> groups_;  ///< by arrival
  std::list<Sequence> running_;   ///< by admission
  int64_t prefill_left_ = 0;      ///< in this step
  int64_t preemptions_ = 0, prefix_queries_ = 0, prefix_hits_ = 0;
};

}  // namespace nereus::generation
