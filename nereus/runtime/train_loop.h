#pragma once

#include <memory>
#include <optional>

#include "nereus/base/clock.h"
#include "nereus/metrics/jsonl.h"
#include "nereus/metrics/progress.h"
#include "nereus/runtime/actor.h"
#include "nereus/runtime/evaluation.h"
#include "nereus/runtime/interrupt.h"
#include "nereus/runtime/job.h"
#include "nereus/runtime/prompts.h"
#include "nereus/runtime/rollout_source.h"
#include "nereus/runtime/run_folder.h"
#include "nereus/runtime/scoring.h"
#include "nereus/runtime/train_job.h"
#include "nereus/runtime/train_state.h"
#include "nereus/tasks/rewards.h"
#include "nereus/train/trainer.h"

namespace nereus::runtime {

/// The loop of a run: completions with rewards, update, and the new policy to where completions come from.
/// Owns all parts of a run but its folder. Not thread-safe.
class TrainLoop {
 public:
  /// Loads model, data and rewards; with a checkpoint in the folder of a resumed run, goes on from there.
  static Result<std::unique_ptr<TrainLoop>> make(Job job, RunFolder& folder, metrics::Progress& progress,
                                                 const Clock& clock);

  /// Runs until the last step, or until `interrupt` asks to stop after a step; saves at the end.
  Result<TrainOutcome> run(const Interrupt& interrupt);

 private:
  TrainLoop(Job job, RunFolder& folder, metrics::Progress& progress, const Clock& clock, Actor actor,
            text::PromptEncoder encoder);

  Status prepare();
  Status resume();
  Status open_logs();
  void warn_at_start();

  /// False: interrupted before there was anything to train.
  Result<bool> step(const Interrupted& interrupted);
  Result<std::map<std::string, double>> update(const ScoredRollouts& rollouts);
  Status log(const ScoredRollouts& rollouts, metrics::Record record,
             const std::map<std::string, double>& trained);
  void warn(const ScoredRollouts& rollouts, const metrics::Record& record);

  Status evaluate_now();
  Status checkpoint();
  Status write_result();
  bool due(int64_t every) const { return every > 0 && state_.step % every == 0; }

  Job job_;
  RunFolder& folder_;
  metrics::Progress& progress_;
  const Clock& clock_;
  Actor actor_;
  text::PromptEncoder encoder_;
  std::unique_ptr<tasks::Dataset> data_, held_out_;
  std::optional<PromptStream> stream_;
  std::optional<tasks::RewardList> rewards_, evaluation_rewards_;
  std::optional<train::Trainer> trainer_;
  std::unique_ptr<RolloutSource> rollouts_;
  std::optional<metrics::JsonlWriter> metrics_, evaluations_;
  TrainState state_;
  int64_t saved_step_ = -1;
  bool warned_no_spread_ = false;
};

}  // namespace nereus::runtime
