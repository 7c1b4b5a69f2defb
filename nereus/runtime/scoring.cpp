#include "nereus/runtime/scoring.h"

#include <cmath>
#include <iterator>

#include "nereus/metrics/summary.h"
#include "nereus/rl/dapo.h"
#include "nereus/rl/rewards.h"
#include "nereus/runtime/sampling.h"

namespace nereus::runtime {

namespace {

template <class T>
void append_all(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

const char* finish_name(rollout::Finish finish) {
  switch (finish) {
    case rollout::Finish::stop:
      return "stop";
    case rollout::Finish::length:
      return "length";
    default:
      return "cancelled";
  }
}

OrderedJson reward_json(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

void add_lengths(metrics::Record& record, const ScoredRollouts& rollouts) {
  metrics::Summary all, terminated, clipped;
  for (const auto& group : rollouts.groups)
    for (const auto& completion : group.completions) {
      const auto length = static_cast<double>(completion.tokens.size());
      all.add(length);
      if (completion.finish == rollout::Finish::stop) terminated.add(length);
      clipped.add(completion.finish == rollout::Finish::length ? 1 : 0);
    }
  const auto add = [&record](const char* kind, const metrics::Summary& summary) {
    const bool any = summary.weight() > 0;
    record.set(fmt::format("completions/mean_{}", kind), any ? summary.mean() : 0);
    record.set(fmt::format("completions/min_{}", kind), any ? summary.min() : 0);
    record.set(fmt::format("completions/max_{}", kind), any ? summary.max() : 0);
  };
  add("length", all);
  add("terminated_length", terminated);
  record.set("completions/clipped_ratio", clipped.mean());
}

metrics::Summary summary_of(std::span<const std::optional<double>> values) {
  metrics::Summary summary;
  for (const auto& value : values)
    if (value) summary.add(*value);
  return summary;
}

void add_rewards(metrics::Record& record, const ScoredRollouts& rollouts,
                 const std::vector<std::string>& names) {
  metrics::Summary deviation, flat;
  for (size_t i = 0; i < rollouts.groups.size(); ++i) {
    const auto rewards = rollouts.group_rewards(i);
    if (const auto moments = rl::moments(rewards); moments.present > 0) deviation.add(moments.deviation);
    flat.add(rl::keep_group(rewards) ? 0 : 1);
  }
  record.set("reward", summary_of(rollouts.rewards).mean());
  record.set("reward_std", deviation.mean());
  record.set("frac_reward_zero_std", flat.mean());
  for (size_t k = 0; k < names.size(); ++k) {
    const auto summary = summary_of(rollouts.values[k]);
    record.set(fmt::format("rewards/{}/mean", names[k]), summary.mean());
    record.set(fmt::format("rewards/{}/std", names[k]), summary.deviation());
  }
}

}  // namespace

Result<tasks::RewardList> make_rewards(const std::vector<RewardSection>& sections) {
  std::vector<std::unique_ptr<tasks::Reward>> rewards;
  std::vector<double> weights;
  for (size_t i = 0; i < sections.size(); ++i) {
    auto reward = tasks::make_reward(sections[i].options, sections[i].folder);
    if (!reward) return fail("[[reward]] {}: {}", i, reward.error().message);
    rewards.push_back(std::move(*reward));
    weights.push_back(sections[i].options.weight);
  }
  return tasks::RewardList::make(std::move(rewards), std::move(weights));
}

void ScoredRollouts::append(ScoredRollouts other) {
  append_all(prompts, other.prompts);
  append_all(groups, other.groups);
  append_all(texts, other.texts);
  append_all(rewards, other.rewards);
  append_all(warnings, other.warnings);
  values.resize(other.values.size());
  for (size_t k = 0; k < values.size(); ++k) append_all(values[k], other.values[k]);
}

size_t ScoredRollouts::first_completion(size_t group) const {
  size_t first = 0;
  for (size_t i = 0; i < group; ++i) first += groups[i].completions.size();
  return first;
}

ScoredRollouts ScoredRollouts::group(size_t index) const {
  const auto first = static_cast<ptrdiff_t>(first_completion(index));
  const auto last = first + std::ssize(groups[index].completions);
  ScoredRollouts one;
  one.prompts = {prompts[index]};
  one.groups = {groups[index]};
  one.texts.assign(texts.begin() + first, texts.begin() + last);
  one.rewards.assign(rewards.begin() + first, rewards.begin() + last);
  for (const auto& list : values) one.values.emplace_back(list.begin() + first, list.begin() + last);
  return one;
}

std::span<const std::optional<double>> ScoredRollouts::group_rewards(size_t index) const {
  return std::span(rewards).subspan(first_completion(index), groups[index].completions.size());
}

train::ScoredGroup ScoredRollouts::scored_group(size_t index) const {
  train::ScoredGroup group{groups[index], {}};
  const auto first = static_cast<ptrdiff_t>(first_completion(index));
  const auto count = std::ssize(groups[index].completions);
  for (const auto& list : values)
    group.rewards.emplace_back(list.begin() + first, list.begin() + first + count);
  return group;
}

Result<ScoredRollouts> score(std::vector<Prompt> prompts, std::vector<rollout::Group> groups,
                             tasks::RewardList& rewards, const text::Tokenizer& tokenizer,
                             const std::vector<std::string>& stops) {
  ScoredRollouts out;
  std::vector<tasks::RewardInput> inputs;
  for (size_t i = 0; i < groups.size(); ++i)
    for (const auto& completion : groups[i].completions) {
      out.texts.push_back(completion_text(completion, tokenizer, stops));
      inputs.push_back({&prompts[i].sample, out.texts.back(), &completion});
    }
  auto scores = rewards.score(inputs);
  if (!scores) return pass(scores);
  out.rewards = tasks::weighted_sum(*scores, rewards.weights());
  out.values = std::move(scores->values);
  out.warnings = std::move(scores->warnings);
  out.prompts = std::move(prompts);
  out.groups = std::move(groups);
  return out;
}

metrics::Record rollout_metrics(const ScoredRollouts& rollouts,
                                const std::vector<std::string>& reward_names) {
  metrics::Record record;
  add_lengths(record, rollouts);
  add_rewards(record, rollouts, reward_names);
  return record;
}

std::vector<std::string> completion_lines(const ScoredRollouts& rollouts,
                                          const std::vector<std::string>& reward_names, int64_t step) {
  std::vector<std::string> lines;
  size_t at = 0;
  for (size_t i = 0; i < rollouts.groups.size(); ++i)
    for (const auto& completion : rollouts.groups[i].completions) {
      OrderedJson rewards = OrderedJson::object();
      for (size_t k = 0; k < reward_names.size(); ++k)
        rewards[reward_names[k]] = reward_json(rollouts.values[k][at]);
      const OrderedJson line = {{"step", step},
                                {"prompt_id", rollouts.prompts[i].id},
                                {"completion", completion.index},
                                {"source", rollouts.prompts[i].sample.source},
                                {"prompt", rollouts.prompts[i].sample.prompt},
                                {"text", rollouts.texts[at]},
                                {"reward", reward_json(rollouts.rewards[at])},
                                {"rewards", rewards},
                                {"finish", finish_name(completion.finish)},
                                {"version", completion.versions.empty() ? 0 : completion.versions.front()},
                                {"token_ids", completion.tokens}};
      lines.push_back(line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
      ++at;
    }
  return lines;
}

}  // namespace nereus::runtime
