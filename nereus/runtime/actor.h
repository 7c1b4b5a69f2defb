#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "nereus/base/result.h"
#include "nereus/checkpoint/source.h"
#include "nereus/generation/engine.h"
#include "nereus/model/transformer.h"
#include "nereus/runtime/job.h"

namespace nereus::runtime {

/// A model that samples: its file, packed weights (with an adapter, unmerged) and the engine. Not
/// thread-safe.
struct Sampler {
  checkpoint::Source source;
  std::unique_ptr<model::Transformer> model;
  std::unique_ptr<generation::Engine> engine;
};

struct SamplerOptions {
  std::filesystem::path model;
  std::filesystem::path adapter;  ///< empty: none
  generation::EngineOptions engine;
  kernels::Element dtype = kernels::Element::f32;
};

Result<Sampler> load_sampler(const SamplerOptions& options);

/// A PEFT folder's adapter in the form that a packed model of the same shape samples with.
Result<std::shared_ptr<const model::PackedAdapter>> read_packed_adapter(const model::Transformer& model,
                                                                        const std::filesystem::path& folder);

/// The policy of a training job: the weights that train, and their packed copy that samples. Not thread-safe.
class Actor {
 public:
  /// Loads the job's model, with a new adapter, a given one, or all weights to be trained.
  static Result<Actor> load(const Job& job);

  model::Transformer& trained() { return *trained_; }
  generation::Engine& engine() { return *sampler_.engine; }
  /// Another engine over the same packed weights, with the policy as it is trained now.
  std::unique_ptr<generation::Engine> make_engine(const generation::EngineOptions& options) const;
  const checkpoint::Source& source() const { return sampler_.source; }

  /// Gives the trained weights to the sampler, as `version`. REQUIRES: the engine is idle.
  void update(int64_t version);

 private:
  Actor(std::unique_ptr<model::Transformer> trained, Sampler sampler)
      : trained_(std::move(trained)), sampler_(std::move(sampler)) {}

  std::unique_ptr<model::Transformer> trained_;
  Sampler sampler_;
};

/// Sets how many threads compute for the calling thread; 0: leaves it.
void use_threads(int64_t threads);

/// How the calling thread's threads are shared with a sampler beside it.
struct ThreadShares {
  int64_t trainer = 1, sampler = 1;
};
/// `sampler` of them; 0: half. Each side has at least one.
ThreadShares split_threads(int64_t sampler);

}  // namespace nereus::runtime
