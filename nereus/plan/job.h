#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/spec/model_config.h"

namespace nereus::plan {

enum class Role : uint8_t { actor, critic, reference, reward };
enum class Stage : uint8_t { generate, infer, train };
std::string_view name_of(Role role);
std::string_view name_of(Stage stage);

/// A model of the job and what is done with it.
struct Model {
  Role role = Role::actor;
  spec::ModelConfig config;
  int32_t lora_rank = 0;  ///< 0: all weights are trained. Of trained models only.

  bool trained() const { return role == Role::actor || role == Role::critic; }
  /// Critic and reward give one value a token in place of logits: no head of the vocabulary's size.
  bool scores() const { return role == Role::critic || role == Role::reward; }
};

/// A pair of model and stage: what a placement places.
struct ModelStage {
  Role role = Role::actor;
  Stage stage = Stage::train;

  friend auto operator<=>(const ModelStage&, const ModelStage&) = default;
};
std::string to_string(ModelStage what);  ///< "actor train"

/// Lengths in tokens of one step's completions, as a sample of their distribution. A mean would miss the
/// tail.
struct Lengths {
  int64_t prompt = 512;            ///< mean of the prompts
  std::vector<int32_t> responses;  ///< sorted; `samples` of the step are drawn from them by equal quantiles
  int64_t max_response = 4096;     ///< the limit of generation: memory has to hold for it

  double mean_response() const;
  /// Response of the sample at `quantile` in [0, 1]. REQUIRES: responses are given.
  int32_t at(double quantile) const;
};

/// A lognormal of the given mean and coefficient of variation, cut at `max`, as `count` equal quantiles.
Lengths lognormal_lengths(int64_t prompt, double mean, double variation, int64_t max, int32_t count = 256);

/// What the job trains, without where and how.
struct Job {
  std::vector<Model> models;  ///< at most one of each role; the actor always
  int64_t prompts = 128;      ///< of a step
  int64_t completions = 8;    ///< of a prompt
  Lengths lengths;
  int32_t minibatches = 1;     ///< optimizer steps of a step
  int32_t epochs = 1;          ///< passes over a step's samples
  double weight_bytes = 2;     ///< of an element of weights and activations
  double gradient_bytes = 4;   ///< of an element of the gradients that are summed
  double reward_seconds = 0;   ///< of a step, outside the models (programs, services)
  int64_t logit_chunk = 1024;  ///< tokens whose logits exist at once; 0: those of a whole micro-batch
  double utilization = 0.90;   ///< share of a device's memory that a plan may fill; the rest is for fragments
  /// The next step's completions are generated while this step trains, where both have devices of their own.
  bool asynchronous = false;

  int64_t samples() const { return prompts * completions; }
  const Model* find(Role role) const;
};

/// What every step runs: generate of the actor, infer of actor (old log-probs), reference, reward and critic,
/// train of actor and critic, as far as the job has them.
std::vector<ModelStage> model_stages(const Job& job);

}  // namespace nereus::plan
