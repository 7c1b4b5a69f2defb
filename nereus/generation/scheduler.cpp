#include "nereus/generation/scheduler.h"

#include <algorithm>

namespace nereus::generation {

void Scheduler::add(rollout::Request request, rollout::TokenCallback on_token, Policy policy) {
  GroupState& group = groups_.emplace_back();
  group.request = std::move(request);
  group.on_token = std::move(on_token);
  group.policy = std::move(policy);
  for (uint32_t i = 0; i < group.request.count; ++i) {
    Sequence& sequence = group.waiting.emplace_back();
    sequence.group = &group;
    sequence.completion.index = i;
    sequence.lead = lead(group.prompt_tokens());
  }
}

bool Scheduler::knows(uint64_t prompt_id) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const GroupState& g) { return g.request.prompt_id == prompt_id; });
}

int64_t Scheduler::waiting() const {
  int64_t count = 0;
  for (const GroupState& group : groups_) count += static_cast<int64_t>(group.waiting.size());
  return count;
}

std::list<Sequence>::iterator Scheduler::place(Sequence& sequence) {
  return std::find_if(running_.begin(), running_.end(), [&](const Sequence& s) { return &s == &sequence; });
}

/// Frees the prompt of the latest group of which nothing runs.
bool Scheduler::reclaim_prompt(const GroupState* keep) {
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (&*group == keep || group->running > 0 || group->prompt_blocks.empty()) continue;
    pool_.give_back(group->prompt_blocks);
    group->prompt_cached = 0;
    return true;
  }
  return false;
}

void Scheduler::preempt(Sequence& sequence) {
  pool_.give_back(sequence.blocks);
  sequence.cached = 0;
  --sequence.group->running;
  ++preemptions_;
  GroupState& group = *sequence.group;
  group.waiting.push_front(std::move(sequence));
  running_.erase(place(sequence));
}

/// Blocks for all tokens of the sequence so far.
bool Scheduler::take_blocks(Sequence& sequence) {
  if (sequence.tokens() == 0) return true;
  const int64_t missing =
      blocks_for(sequence.lead + sequence.tokens()) - static_cast<int64_t>(sequence.blocks.size());
  return missing <= 0 || pool_.take(missing, sequence.blocks);
}

void Scheduler::schedule_running(Schedule& schedule) {
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    Sequence& sequence = *it;
    while (!take_blocks(sequence)) {
      if (reclaim_prompt(sequence.group)) continue;
      Sequence& last = running_.back();
      const bool itself = &last == &sequence;
      preempt(last);
      if (itself) return;  // nothing stood behind it
    }
    run_sequence(sequence, schedule);
  }
}

/// As many of its tokens that are not in the cache as this step still takes; a single one always.
void Scheduler::run_sequence(Sequence& sequence, Schedule& schedule) {
  int64_t rows = sequence.tokens() - sequence.cached;
  if (rows > 1) {
    rows = std::min(rows, prefill_left_);
    prefill_left_ -= rows;
  }
  if (rows > 0) schedule.runs.push_back({sequence.group, &sequence, sequence.cached, rows});
}

/// Whether there is room for the group's next completion and what its prompt lacks. Gives up idle prompts to
/// make some.
bool Scheduler::fits(const GroupState& group) {
  const Sequence& next = group.waiting.front();
  const int64_t rows = group.prompt_tokens() - group.prompt_cached + next.tokens();
  if (rows > prefill_left_ && prefill_left_ < options_.prefill_tokens) return false;
  // Its next token and one more for each that runs, lest it is preempted at once.
  const int64_t needed = blocks_for(group.prompt_tokens()) -
                         static_cast<int64_t>(group.prompt_blocks.size()) +
                         blocks_for(next.lead + next.tokens() + 1);
  const int64_t reserve = running_.empty() ? 0 : running();
  while (pool_.free() < needed + reserve)
    if (!reclaim_prompt(&group)) return false;
  return true;
}

/// Takes the prompt's blocks behind those of its known prefix.
void Scheduler::begin_prompt(GroupState& group) {
  pool_.take(blocks_for(group.prompt_tokens()) - static_cast<int64_t>(group.prompt_blocks.size()),
             group.prompt_blocks);
  if (!options_.prefix_cache) return;
  prefix_queries_ += group.prompt_tokens();
  prefix_hits_ += group.prompt_cached;
  if (!group.cached_tokens) group.cached_tokens = group.prompt_cached;
}

/// As much of the prompt as this step still takes; whether that is all. REQUIRES: it fits, so a step that
/// takes nothing more does not come here.
bool Scheduler::run_prompt(GroupState& group, Schedule& schedule) {
  const auto& prompt = group.request.prompt;
  const int64_t rows = std::min(group.prompt_tokens() - group.prompt_cached, prefill_left_);
  schedule.runs.push_back({&group, nullptr, group.prompt_cached, rows});
  prefill_left_ -= rows;
  group.prompt_cached += rows;
  // A step stores keys and values before it reads them, so another prompt may share them in this very step.
  if (options_.prefix_cache)
    pool_.keep(group.policy.serial, std::span(prompt).first(static_cast<size_t>(group.prompt_cached)),
               group.prompt_blocks);
  return group.prompt_cached == group.prompt_tokens();
}

/// Admits one completion of the group; false where it has to wait.
bool Scheduler::admit_next(GroupState& group, Schedule& schedule) {
  const bool begins = group.prompt_blocks.empty();
  if (begins && options_.prefix_cache) {
    // The last token is always computed: the first answer is drawn from its row.
    group.prompt_blocks = pool_.take_prefix(
        group.policy.serial, std::span(group.request.prompt).first(group.request.prompt.size() - 1));
    group.prompt_cached = static_cast<int64_t>(group.prompt_blocks.size()) * options_.block_tokens;
  }
  if (!fits(group)) {
    if (begins) {
      pool_.give_back(group.prompt_blocks);
      group.prompt_cached = 0;
    }
    return false;
  }
  if (begins) begin_prompt(group);
  if (group.prompt_cached < group.prompt_tokens() && !run_prompt(group, schedule)) return false;
  Sequence& sequence = running_.emplace_back(std::move(group.waiting.front()));
  group.waiting.pop_front();
  ++group.running;
  take_blocks(sequence);
  if (sequence.tokens() == 0)
    schedule.fresh.push_back(&sequence);
  else
    run_sequence(sequence, schedule);
  return true;
}

void Scheduler::admit(Schedule& schedule) {
  for (GroupState& group : groups_)
    while (!group.waiting.empty()) {
      if (running() >= options_.max_running || !admit_next(group, schedule)) return;
    }
}

Schedule Scheduler::next() {
  Schedule schedule;
  prefill_left_ = options_.prefill_tokens;
  schedule_running(schedule);
  admit(schedule);
  return schedule;
}

void Scheduler::keep(const Sequence& sequence) {
  const GroupState& group = *sequence.group;
  rollout::Tokens tokens = group.request.prompt;
  const auto& own = sequence.completion.tokens;
  tokens.insert(tokens.end(), own.begin(), own.begin() + sequence.cached);
  const auto whole = group.prompt_blocks.begin() + group.prompt_tokens() / options_.block_tokens;
  std::vector<int64_t> blocks(group.prompt_blocks.begin(), whole);
  blocks.insert(blocks.end(), sequence.blocks.begin(), sequence.blocks.end());
  pool_.keep(group.policy.serial, tokens, blocks);
}

void Scheduler::finish(Sequence& sequence) {
  pool_.give_back(sequence.blocks);
  --sequence.group->running;
  sequence.group->finished.push_back(std::move(sequence.completion));
  running_.erase(place(sequence));
}

void Scheduler::cancel(uint64_t prompt_id) {
  for (GroupState& group : groups_) {
    if (group.request.prompt_id != prompt_id) continue;
    for (auto it = running_.begin(); it != running_.end();) {
      Sequence& sequence = *it++;
      if (sequence.group != &group) continue;
      sequence.completion.finish = rollout::Finish::cancelled;
      finish(sequence);
    }
    for (Sequence& sequence : group.waiting) {
      sequence.completion.finish = rollout::Finish::cancelled;
      group.finished.push_back(std::move(sequence.completion));
    }
    group.waiting.clear();
    pool_.give_back(group.prompt_blocks);
  }
}

void Scheduler::change_policy(uint64_t serial, const Policy& policy) {
  // From the last one admitted on, so that they wait in their order.
  for (auto it = running_.end(); it != running_.begin();) {
    Sequence& sequence = *--it;
    if (sequence.group->policy.serial != serial) continue;
    ++it;
    preempt(sequence);
  }
  for (GroupState& group : groups_) {
    if (group.policy.serial != serial) continue;
    pool_.give_back(group.prompt_blocks);
    group.prompt_cached = 0;
    group.policy = policy;
  }
}

std::vector<rollout::Group> Scheduler::take_finished() {
  std::vector<rollout::Group> done;
  for (auto it = groups_.begin(); it != groups_.end();) {
    GroupState& group = *it;
    if (group.running > 0 || !group.waiting.empty()) {
      ++it;
      continue;
    }
    pool_.give_back(group.prompt_blocks);
    std::sort(group.finished.begin(), group.finished.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    done.push_back({group.request.prompt_id, std::move(group.request.prompt), std::move(group.finished),
                    group.cached_tokens.value_or(0)});
    it = groups_.erase(it);
  }
  return done;
}

}  // namespace nereus::generation
