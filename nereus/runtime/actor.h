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

/// The policy of a training job: the weights that train, and their packed copy that samples. Not thread-safe.
class Actor {
 public:
  /// Loads the job's model, with a new adapter, a given one, or all weights to be trained.
  static Result<Actor> load(const Job& job);

  model::Transformer& trained() { return *trained_; }
  generation::Engine& engine() { return *sampler_.engine; }
  const checkpoint::Source& source() const { return sampler_.source; }

  /// Gives the trained weights to the sampler, as `version`. REQUIRES: the engine is idle.
  void update(int64_t version);

 private:
  Actor(std::unique_ptr<model::Transformer> trained, Sampler sampler)
      : trained_(std::move(trained)), sampler_(std::move(sampler)) {}

  std::unique_ptr<model::Transformer> trained_;
  Sampler sampler_;
};

/// Sets how many threads compute; 0: as many as the process may use.
void use_threads(int64_t threads);

}  // namespace nereus::runtime
