#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nereus/model/transformer.h"
#include "nereus/rollout/generator.h"

namespace nereus::generation {

struct EngineOptions {
  int64_t max_running = 64;       ///< sequences that decode at once
  int64_t kv_bytes = 1LL << 30;   ///< memory of the KV pool; taken as it is needed, never more than useful
  int64_t block_tokens = 16;      ///< tokens a KV block
  int64_t prefill_tokens = 2048;  ///< prompt tokens computed in one step; a longer prompt takes several
  int64_t max_context = 0;        ///< longest prompt with its completion; 0: the model's
  kernels::Element kv_element = kernels::Element::f32;
  /// Full blocks of prompts and answers stay in the pool while there is room, for prompts that begin alike.
  /// Off, a request's log-probs do not depend on earlier ones, which training needs to resume bit by bit.
  bool prefix_cache = false;
};

/// Continuous batching over a paged KV cache. A prompt is computed once for its whole group and its blocks
/// are shared; sequences are admitted while blocks are free and preempted by recomputation when they run
/// out. Any number of adapters answer in one batch. Not thread-safe.
class Engine : public rollout::Generator {
 public:
  /// The model must be packed and must outlive the engine.
  Engine(const model::Transformer& model, EngineOptions options);
  ~Engine() override;

  Status submit(rollout::Request request, rollout::TokenCallback on_token = {}) override;
  /// REQUIRES: not called from a TokenCallback, which ends its completion by returning false.
  void cancel(uint64_t prompt_id) override;
  /// Error: the model gave logits that are not finite; names the prompt.
  Result<std::vector<rollout::Group>> step() override;
  bool idle() const override;
  int64_t version() const override;

  /// Adds or replaces the policy that requests of this name get from now on; those submitted before keep
  /// theirs. The empty name is the engine's own policy: at first version 0 without an adapter. A null adapter
  /// means the model's own weights. REQUIRES: idle() where the model's weights have changed.
  void set_policy(const std::string& name, int64_t version,
                  std::shared_ptr<const model::PackedAdapter> adapter);
  /// Likewise, and requests under way that have the policy of this name go on under the new one. Each of
  /// their tokens says which version sampled it.
  void replace_policy(const std::string& name, int64_t version,
                      std::shared_ptr<const model::PackedAdapter> adapter);
  /// Requests submitted before keep it. False where there is none of that name. REQUIRES: a name.
  bool remove_policy(const std::string& name);
  std::vector<std::string> policies() const;  ///< names, sorted; without the engine's own

  struct Stats {
    int64_t running = 0, waiting = 0, free_blocks = 0, total_blocks = 0;
    int64_t preemptions = 0;       ///< since the start
    int64_t generated_tokens = 0;  ///< since the start
    int64_t prefill_tokens = 0;    ///< since the start; computed, not found in the prefix cache
    int64_t cached_blocks = 0;     ///< of the free ones: those that hold prefixes
    int64_t prefix_queries = 0;    ///< prompt tokens looked up in the prefix cache since the start
    int64_t prefix_hits = 0;       ///< those found
  };
  Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nereus::generation
