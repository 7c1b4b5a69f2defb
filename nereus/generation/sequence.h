#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "nereus/model/packed_adapter.h"
#include "nereus/rollout/generator.h"

namespace nereus::generation {

struct GroupState;

/// Who samples: a version of the policy, with its adapter where it has one. A request keeps the one that it
/// began with, so that its cached keys and values stay true.
struct Policy {
  int64_t version = 0;
  std::shared_ptr<const model::PackedAdapter> adapter;
  uint64_t serial = 0;  ///< order in which policies were given: rows are sorted, prefixes cached by it
};

/// A completion on its way. Its tokens' keys and values lie in `blocks`, those of the prompt in the group's.
struct Sequence {
  GroupState* group = nullptr;
  rollout::Completion completion;
  std::vector<int64_t> blocks;
  /// Slots before its first token: with a prefix cache its blocks lie as those of a prompt that repeats it
  /// would, and this is how much of the first one the prompt's end takes.
  int64_t lead = 0;
  int64_t cached = 0;  ///< own tokens whose keys and values are in the cache

  int64_t tokens() const { return static_cast<int64_t>(completion.tokens.size()); }
};

/// A request with its completions: waiting (not begun, or preempted), running (the scheduler's list) or
/// finished. The prompt's blocks are shared by all of them.
struct GroupState {
  rollout::Request request;
  rollout::TokenCallback on_token;
  Policy policy;
  std::vector<int64_t> prompt_blocks;  ///< empty where the prompt is not in the cache
  int64_t prompt_cached = 0;  ///< tokens of the prompt whose keys and values the blocks hold after this step
  at::Tensor last_hidden;     ///< [1, hidden] of the prompt's last token: first tokens come from it
  std::optional<int64_t> cached_tokens;  ///< of the prompt, found in the prefix cache when it first ran
  std::deque<Sequence> waiting;
  int64_t running = 0;
  std::vector<rollout::Completion> finished;

  int64_t prompt_tokens() const { return static_cast<int64_t>(request.prompt.size()); }
};

}  // namespace nereus::generation
