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
    group->prompt_computed = false;
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
    schedule.runs.push_back(
        {sequence.group, &sequence, sequence.cached, sequence.tokens() - sequence.cached});
  }
}

/// Whether there is room for the group's next completion, and for its prompt from token `known` on. Gives up
/// idle prompts to make some.
bool Scheduler::fits(const GroupState& group, int64_t known, int64_t prefill) {
  const int64_t own = group.waiting.front().tokens();
  const int64_t own_blocks = blocks_for(group.waiting.front().lead + own + 1);
  if (prefill > 0 && prefill + group.prompt_tokens() - known + own > options_.prefill_tokens) return false;
  const int64_t prompt_blocks =
      blocks_for(group.prompt_tokens()) - static_cast<int64_t>(group.prompt_blocks.size());
  // Its next token and one more for each that runs, lest it is preempted at once.
  const int64_t needed = prompt_blocks + own_blocks;
  const int64_t reserve = running_.empty() ? 0 : running();
  while (pool_.free() < needed + reserve)
    if (!reclaim_prompt(&group)) return false;
  return true;
}

/// Takes the prompt's blocks and runs it from token `known` on.
void Scheduler::begin_prompt(GroupState& group, int64_t known, Schedule& schedule) {
  const auto& prompt = group.request.prompt;
  pool_.take(blocks_for(group.prompt_tokens()) - static_cast<int64_t>(group.prompt_blocks.size()),
             group.prompt_blocks);
  schedule.runs.push_back({&group, nullptr, known, group.prompt_tokens() - known});
  if (!options_.prefix_cache) return;
  // A step stores keys and values before it reads them, so another prompt may share them in this very step.
  pool_.keep(group.policy.serial, prompt, group.prompt_blocks);
  prefix_queries_ += group.prompt_tokens();
  prefix_hits_ += known;
  if (!group.cached_tokens) group.cached_tokens = known;
}

/// Admits one completion of the group; false where it has to wait.
bool Scheduler::admit_next(GroupState& group, int64_t& prefill, Schedule& schedule) {
  const bool needs_prompt = group.prompt_blocks.empty();
  int64_t known = needs_prompt ? 0 : group.prompt_tokens();
  if (needs_prompt && options_.prefix_cache) {
    // The last token is always computed: the first answer is drawn from its row.
    group.prompt_blocks = pool_.take_prefix(
        group.policy.serial, std::span(group.request.prompt).first(group.request.prompt.size() - 1));
    known = static_cast<int64_t>(group.prompt_blocks.size()) * options_.block_tokens;
  }
  if (!fits(group, known, prefill)) {
    if (needs_prompt) pool_.give_back(group.prompt_blocks);
    return false;
  }
  if (needs_prompt) begin_prompt(group, known, schedule);
  Sequence& sequence = running_.emplace_back(std::move(group.waiting.front()));
  group.waiting.pop_front();
  ++group.running;
  prefill += group.prompt_tokens() - known + sequence.tokens();
  take_blocks(sequence);
  if (sequence.tokens() == 0)
    schedule.fresh.push_back(&sequence);
  else
    schedule.runs.push_back({&group, &sequence, 0, sequence.tokens()});
  return true;
}

void Scheduler::admit(Schedule& schedule) {
  int64_t prefill = 0;
  for (GroupState& group : groups_)
    while (!group.waiting.empty()) {
      if (running() >= options_.max_running || !admit_next(group, prefill, schedule)) return;
    }
}

Schedule Scheduler::next() {
  Schedule schedule;
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
    group.prompt_computed = false;
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
