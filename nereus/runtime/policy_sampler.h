#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "nereus/base/result.h"
#include "nereus/rollout/generator.h"
#include "nereus/runtime/actor.h"

namespace nereus::runtime {

/// Samples for an asynchronous run, from the newest policy that it was given. All but `hand_over` is called
/// by the one thread that samples.
class PolicySampler {
 public:
  virtual ~PolicySampler() = default;

  /// By the training thread: keeps a copy of the trained policy, as `version`, in place of one that nobody
  /// took.
  virtual void hand_over(const model::Transformer& trained, int64_t version) = 0;
  /// Between two steps: requests submitted from now on are answered by the policy handed over last. Its
  /// version, where that is new.
  virtual Result<std::optional<int64_t>> adopt() = 0;

  virtual rollout::Generator& generator() = 0;

  /// What keeps it from answering just now, for people; "" where nothing does. By any thread.
  virtual std::string trouble() const { return ""; }
  /// Whether sampling takes threads of this process.
  virtual bool embedded() const = 0;
};

/// The actor's own engine: a new policy is a pointer.
class EmbeddedSampler : public PolicySampler {
 public:
  explicit EmbeddedSampler(Actor& actor) : actor_(actor) {}

  void hand_over(const model::Transformer& trained, int64_t version) override;
  Result<std::optional<int64_t>> adopt() override;
  rollout::Generator& generator() override { return actor_.engine(); }
  bool embedded() const override { return true; }

 private:
  struct Handed {
    int64_t version;
    std::shared_ptr<const model::PackedAdapter> adapter;
  };
  Actor& actor_;
  std::mutex mutex_;
  std::optional<Handed> handed_;  ///< guarded by mutex_
};

}  // namespace nereus::runtime
