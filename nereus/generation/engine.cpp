#include "nereus/generation/engine.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "nereus/base/random.h"
#include "nereus/generation/kv_cache.h"
#include "nereus/generation/sampler.h"
#include "nereus/ops/softmax.h"

namespace nereus::generation {
namespace {

at::ScalarType cache_type(kernels::Element element) {
  return element == kernels::Element::bf16 ? at::kBFloat16 : at::kFloat;
}

/// A sequence whose next token comes from a row of the step's distributions.
struct Draw {
  Sequence* sequence;
  int64_t row;
  Sampled sampled;
};

}  // namespace

struct Engine::State {
  State(const model::Transformer& m, const EngineOptions& o)
      : model(m),
        options(o),
        context(o.max_context > 0 ? std::min(o.max_context, m.config().context) : m.config().context),
        blocks(pool_blocks()),
        scheduler({o.max_running, o.block_tokens, o.prefill_tokens, o.prefix_cache}, blocks),
        cache(m.config().layers, kv_width(), blocks, o.block_tokens, cache_type(o.kv_element)) {}

  int64_t kv_width() const { return model.config().kv_heads * model.config().head_dim; }
  int64_t pool_blocks() const;
  Result<std::vector<Draw>> compute(Schedule schedule);
  Result<std::vector<Draw>> compute_or_forget(Schedule schedule);
  at::Tensor distributions(const std::vector<at::Tensor>& hidden,
                           const std::vector<const GroupState*>& groups) const;
  void sample_all(std::vector<Draw>& draws, const at::Tensor& probabilities) const;
  void accept(const Draw& draw);
  void keep(const Sequence& sequence);

  const model::Transformer& model;
  EngineOptions options;
  int64_t context, blocks;
  Scheduler scheduler;
  KvCache cache;
  std::map<std::string, Policy> policies{{"", {}}};
  uint64_t serial = 0;
  int64_t generated = 0, prefilled = 0;
};

namespace {

/// Which rows of a step have which adapter. REQUIRES: runs sorted by policy.
std::vector<model::AdapterRows> adapter_rows(const std::vector<Run>& runs) {
  std::vector<model::AdapterRows> parts;
  int64_t row = 0;
  for (const Run& run : runs) {
    const auto& adapter = run.group->policy.adapter;
    if (parts.empty() || parts.back().adapter != adapter) parts.push_back({row, 0, adapter});
    parts.back().rows += run.rows;
    row += run.rows;
  }
  return parts;
}

}  // namespace

/// As many blocks as the memory allows, but no more than `max_running` sequences of full length can use.
int64_t Engine::State::pool_blocks() const {
  const int64_t element = options.kv_element == kernels::Element::bf16 ? 2 : 4;
  const int64_t bytes = 2 * model.config().layers * kv_width() * element * options.block_tokens;
  const int64_t useful = 2 * options.max_running * (context / options.block_tokens + 2);
  return std::clamp<int64_t>(options.kv_bytes / bytes, 1, useful);
}

/// Runs the model over the step's rows and draws a token for each sequence that is up to date.
Result<std::vector<Draw>> Engine::State::compute(Schedule schedule) {
  std::vector<Draw> draws;
  std::vector<at::Tensor> hidden_rows;
  std::vector<const GroupState*> groups;
  std::map<const GroupState*, int64_t> prompt_row;
  const auto add_row = [&](const at::Tensor& row, const GroupState* group) {
    hidden_rows.push_back(row);
    groups.push_back(group);
    return static_cast<int64_t>(hidden_rows.size()) - 1;
  };
  if (!schedule.runs.empty()) {
    std::stable_sort(schedule.runs.begin(), schedule.runs.end(), [](const Run& a, const Run& b) {
      return a.group->policy.serial < b.group->policy.serial;
    });
    const auto& c = model.config();
    PagedAttention attention(cache, ops::AttentionShape{c.heads, c.kv_heads, c.head_dim},
                             model.rope_frequencies(), schedule.runs);
    const at::Tensor hidden = model.hidden(attention.ids(), attention, adapter_rows(schedule.runs));
    for (size_t i = 0; i < schedule.runs.size(); ++i) {
      const Run& run = schedule.runs[i];
      const at::Tensor last = hidden.narrow(0, attention.last_rows()[i], 1);
      const int64_t end = run.first + run.rows;
      if (run.sequence) {
        run.sequence->cached = end;
        if (end == run.sequence->tokens()) draws.push_back({run.sequence, add_row(last, run.group), {}});
      } else {
        if (end == run.group->prompt_tokens()) run.group->last_hidden = last.clone();
        prefilled += run.rows;
      }
    }
  }
  for (Sequence* sequence : schedule.fresh) {
    const GroupState* group = sequence->group;
    if (!prompt_row.contains(group)) prompt_row[group] = add_row(group->last_hidden, group);
    draws.push_back({sequence, prompt_row[group], {}});
  }
  if (draws.empty()) return draws;
  const at::Tensor probabilities = distributions(hidden_rows, groups);
  // One logit that is not finite makes its whole row NaN; sampling from that would draw token 0 for ever.
  for (size_t row = 0; row < groups.size(); ++row)
    if (!std::isfinite(
            probabilities.const_data_ptr<float>()[static_cast<int64_t>(row) * probabilities.size(1)]))
      return fail("prompt {}: the model's logits are not finite (broken weights, or a run that diverged)",
                  groups[row]->request.prompt_id);
  sample_all(draws, probabilities);
  return draws;
}

/// Computes a step. One that fails may leave blocks that do not hold what they were to hold.
Result<std::vector<Draw>> Engine::State::compute_or_forget(Schedule schedule) {
  try {
    auto draws = compute(std::move(schedule));
    if (!draws) scheduler.forget_all();
    return draws;
  } catch (...) {
    scheduler.forget_all();
    throw;
  }
}

/// softmax(logits / temperature) of each row [rows, vocab].
at::Tensor Engine::State::distributions(const std::vector<at::Tensor>& hidden,
                                        const std::vector<const GroupState*>& groups) const {
  at::Tensor logits = model.logits(at::cat(hidden, 0));
  std::vector<float> inverse;
  for (const GroupState* group : groups) {
    const float temperature = group->request.sampling.temperature;
    inverse.push_back(temperature > 0 ? 1.0F / temperature : 1.0F);
  }
  ops::softmax(logits, at::from_blob(inverse.data(), {static_cast<int64_t>(inverse.size())}, at::kFloat));
  return logits;
}

void Engine::State::sample_all(std::vector<Draw>& draws, const at::Tensor& probabilities) const {
  const int64_t vocab = probabilities.size(1);
  const float* data = probabilities.const_data_ptr<float>();
  at::parallel_for(0, static_cast<int64_t>(draws.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Draw& draw = draws[static_cast<size_t>(i)];
      const rollout::Request& request = draw.sequence->group->request;
      const RandomKey key{request.seed, request.stream.value_or(request.prompt_id),
                          draw.sequence->completion.index, static_cast<uint32_t>(draw.sequence->tokens())};
      draw.sampled =
          sample({data + draw.row * vocab, static_cast<size_t>(vocab)}, request.sampling, uniform(key));
    }
  });
}

/// Appends the token and ends the sequence where it should end.
void Engine::State::accept(const Draw& draw) {
  Sequence& sequence = *draw.sequence;
  const GroupState& group = *sequence.group;
  rollout::Completion& completion = sequence.completion;
  completion.tokens.push_back(draw.sampled.token);
  completion.logprobs.push_back(draw.sampled.logprob);
  completion.versions.push_back(group.policy.version);
  ++generated;
  const rollout::SamplingOptions& sampling = group.request.sampling;
  const bool stop_id = std::find(sampling.stop_ids.begin(), sampling.stop_ids.end(), draw.sampled.token) !=
                       sampling.stop_ids.end();
  const bool goes_on = !group.on_token || group.on_token(group.request.prompt_id, completion.index,
                                                         draw.sampled.token, draw.sampled.logprob);
  if (stop_id || !goes_on) {
    completion.finish = rollout::Finish::stop;
  } else if (sequence.tokens() >= sampling.max_new_tokens ||
             group.prompt_tokens() + sequence.tokens() >= context) {
    completion.finish = rollout::Finish::length;
  } else {
    return;
  }
  if (options.prefix_cache) keep(sequence);
  scheduler.finish(sequence);
}

/// For a prompt that repeats prompt and answer: the next turn of a conversation. The answer's last token was
/// never computed.
void Engine::State::keep(const Sequence& sequence) {
  if (sequence.lead + sequence.cached < options.block_tokens) return;
  if (sequence.lead > 0)
    cache.copy(sequence.group->prompt_blocks.back(), sequence.blocks.front(), sequence.lead);
  scheduler.keep(sequence);
}

Engine::Engine(const model::Transformer& model, EngineOptions options)
    : state_(std::make_unique<State>(model, options)) {}
Engine::~Engine() = default;

Status Engine::submit(rollout::Request request, rollout::TokenCallback on_token) {
  const State& s = *state_;
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length == 0) return fail("prompt {} is empty; expected at least one token", request.prompt_id);
  if (request.count == 0) return fail("prompt {}: asked for 0 completions", request.prompt_id);
  if (request.sampling.max_new_tokens < 1)
    return fail("prompt {}: max_new_tokens is {}; expected at least 1", request.prompt_id,
                request.sampling.max_new_tokens);
  if (length >= s.context)
    return fail("prompt {} has {} tokens; the context of {} leaves no room for an answer", request.prompt_id,
                length, s.context);
  for (int32_t id : request.prompt)
    if (id < 0 || id >= s.model.config().vocab)
      return fail("prompt {}: token id {} is outside the vocabulary of {}", request.prompt_id, id,
                  s.model.config().vocab);
  const auto policy = s.policies.find(request.policy);
  if (policy == s.policies.end())
    return fail("prompt {}: there is no adapter \"{}\"; loaded are: {}", request.prompt_id, request.policy,
                fmt::join(policies(), ", "));
  if (s.scheduler.knows(request.prompt_id))
    return fail("prompt {} is already being completed", request.prompt_id);
  const int64_t answer = std::min<int64_t>(request.sampling.max_new_tokens, s.context - length);
  const int64_t needed = s.scheduler.blocks_for(length, answer);
  if (needed > s.blocks)
    return fail("prompt {} with {} tokens and up to {} new ones needs {} KV blocks; the pool has {}",
                request.prompt_id, length, answer, needed, s.blocks);
  state_->scheduler.add(std::move(request), std::move(on_token), policy->second);
  return {};
}

void Engine::cancel(uint64_t prompt_id) {
  state_->scheduler.cancel(prompt_id);
}

Result<std::vector<rollout::Group>> Engine::step() {
  const at::NoGradGuard guard;
  Schedule schedule = state_->scheduler.next();
  if (!schedule.runs.empty() || !schedule.fresh.empty()) {
    const auto draws = state_->compute_or_forget(std::move(schedule));
    if (!draws) return pass(draws);
    for (const Draw& draw : *draws) state_->accept(draw);
  }
  return state_->scheduler.take_finished();
}

bool Engine::idle() const {
  return state_->scheduler.idle();
}
int64_t Engine::version() const {
  return state_->policies.at("").version;
}

void Engine::set_policy(const std::string& name, int64_t version,
                        std::shared_ptr<const model::PackedAdapter> adapter) {
  const auto replaced = state_->policies.find(name);
  // With the engine's own policy the weights may have changed, which are everybody's.
  if (name.empty())
    state_->scheduler.forget_all();
  else if (replaced != state_->policies.end())
    state_->scheduler.forget(replaced->second.serial);
  state_->policies[name] = {version, std::move(adapter), ++state_->serial};
}

void Engine::replace_policy(const std::string& name, int64_t version,
                            std::shared_ptr<const model::PackedAdapter> adapter) {
  const auto found = state_->policies.find(name);
  const std::optional<uint64_t> old =
      found == state_->policies.end() ? std::nullopt : std::optional(found->second.serial);
  set_policy(name, version, std::move(adapter));
  if (old) state_->scheduler.change_policy(*old, state_->policies.at(name));
}

bool Engine::remove_policy(const std::string& name) {
  const auto found = state_->policies.find(name);
  if (found == state_->policies.end()) return false;
  state_->scheduler.forget(found->second.serial);
  state_->policies.erase(found);
  return true;
}

std::vector<std::string> Engine::policies() const {
  std::vector<std::string> names;
  for (const auto& [name, policy] : state_->policies)
    if (!name.empty()) names.push_back(name);
  return names;
}

Engine::Stats Engine::stats() const {
  const Scheduler& s = state_->scheduler;
  return {s.running(),       s.waiting(),       s.pool().free(), s.pool().total(),   s.preemptions(),
          state_->generated, state_->prefilled, s.pool().kept(), s.prefix_queries(), s.prefix_hits()};
}

}  // namespace nereus::generation
