#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nereus/generation/engine.h"
#include "nereus/kernels/matrix.h"
#include "nereus/model/lora.h"
#include "nereus/rl/correction.h"
#include "nereus/rollout/types.h"
#include "nereus/tasks/builtin.h"
#include "nereus/tasks/rewards.h"
#include "nereus/train/trainer.h"

namespace nereus::runtime {

/// [run]
struct RunSection {
  std::string name;  ///< empty: the job file's name without .toml
  std::filesystem::path folder = "runs";
  int64_t steps = 100;
  uint64_t seed = 0;
  int64_t threads = 0;  ///< 0: as many as the process may use
  /// Of products of fp32 matrices.
  kernels::Precision matmul_precision = kernels::Precision::high;
  int64_t checkpoint_every = 25;  ///< 0: only at the end
  int64_t keep_checkpoints = 2;   ///< 0: all
};

/// [model]
struct ModelSection {
  std::filesystem::path path;     ///< Hugging Face folder or .gguf file
  std::filesystem::path adapter;  ///< PEFT folder to start from; empty: a new one
};

/// [data]: either a file or a built-in task.
struct DataSection {
  std::filesystem::path file;  ///< JSON Lines
  std::string task;            ///< name of a built-in task
  tasks::BuiltinOptions builtin;
  std::string system;   ///< system message before every prompt that has none
  int64_t prompts = 8;  ///< of a step
  bool shuffle = true;
  int64_t max_prompt_tokens = 0;   ///< 0: what the context leaves beside max_new_tokens
  bool skip_long_prompts = false;  ///< else an over-long prompt ends the run
};

/// One [[reward]].
struct RewardSection {
  tasks::RewardOptions options;
  std::filesystem::path folder;  ///< where a command runs; empty: the job file's
};

/// [generation]
struct GenerationSection {
  int64_t completions = 8;  ///< of a prompt: the group's size
  rollout::SamplingOptions sampling;
  std::vector<std::string> stop;
  int64_t max_running = 64;
  int64_t kv_memory_mb = 1024;
  kernels::Element dtype = kernels::Element::f32;
};

/// [lora]
struct LoraSection {
  bool enabled = true;  ///< else all weights are trained
  model::LoraOptions options;
};

/// [grpo] beside rl's own options.
struct GrpoSection {
  rl::CorrectionMode correction = rl::CorrectionMode::sequence_mask;
  std::optional<double> correction_min, correction_max;  ///< absent: the mode's usual bounds
  std::optional<double> entropy_target;                  ///< absent: the bonus keeps its weight
  int64_t resample_rounds = 0;  ///< times that groups without spread are replaced by new ones (DAPO); 0: kept
};

/// [async]
struct AsyncSection {
  bool enabled = false;
  int64_t max_staleness = 4;
  int64_t sync_steps = 1;
  int64_t sampler_threads = 0;  ///< of run.threads; 0: half
  double stall_seconds = 60;
  std::string server;            ///< URL of a server or proxy; empty: an embedded sampler
  std::filesystem::path bucket;  ///< empty: the run's own
};

/// [eval]
struct EvalSection {
  int64_t every = 0;           ///< steps; 0: only by `nereus eval`
  int64_t samples = 100;       ///< held-out prompts
  bool at_start = true;        ///< also before the first step, where `every` is not 0
  std::filesystem::path file;  ///< held-out JSON Lines; empty: the held-out share of [data]
  double temperature = 0;
};

/// Everything that decides a run. The keys of the file are in job_keys.cpp. A plain value.
struct Job {
  RunSection run;
  ModelSection model;
  DataSection data;
  std::vector<RewardSection> rewards;
  GenerationSection generation;
  LoraSection lora;
  train::TrainerOptions train;  ///< [train], and [grpo] with `grpo`
  GrpoSection grpo;
  AsyncSection async;
  EvalSection eval;
};

/// Options of the parts, with what one section says about several of them filled in.
train::TrainerOptions trainer_options(const Job& job);
generation::EngineOptions engine_options(const Job& job);

}  // namespace nereus::runtime
