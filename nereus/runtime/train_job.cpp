#include "nereus/runtime/train_job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "nereus/formats/atomic_file.h"
#include "nereus/ops/product.h"
#include "nereus/runtime/job_file.h"
#include "nereus/runtime/train_loop.h"

namespace nereus::runtime {

namespace {

/// Whether a run may go on with another value of this key: it does not change what was computed so far.
bool may_change(const std::string& difference) {
  constexpr std::array kFree = {
      "run.steps:", "run.threads:",  "run.folder:",   "run.checkpoint_every:",  "run.keep_checkpoints:",
      "eval.",      "async.server:", "async.bucket:", "async.sampler_threads:", "async.stall_seconds:"};
  return std::ranges::any_of(kFree, [&](std::string_view key) { return difference.starts_with(key); });
}

/// A resumed run must be the same job.
Status check_same_job(const Job& job, const RunFolder& folder) {
  auto before = read_job(folder.job_file(), {});
  if (!before) return pass(before);
  for (const auto& difference : differences(job, *before))
    if (!may_change(difference))
      return fail("{}: the run cannot be resumed with another job: {}", folder.path().string(), difference);
  return {};
}

}  // namespace

Result<TrainOutcome> train(const TrainCommand& command) {
  auto job = read_job(command.job_file, command.overrides);
  if (!job) return pass(job);
  auto folder = RunFolder::open(job->run.folder / job->run.name, command.on_existing);
  if (!folder) return pass(folder);
  if (folder->existed())
    if (auto status = check_same_job(*job, *folder); !status) return pass(status);
  use_threads(job->run.threads);
  ops::set_matmul_precision(job->run.matmul_precision);
  const SteadyClock clock;
  metrics::Progress progress(std::cerr, clock, metrics::TerminalOptions::detect(STDERR_FILENO));
  progress.note("run: " + folder->path().string());
  const std::string text = job_text(*job);
  auto loop = TrainLoop::make(std::move(*job), *folder, progress, clock);
  if (!loop) return pass(loop);
  // Only now: a job that cannot start leaves no run behind.
  if (auto status = formats::write_file_atomically(folder->job_file(), text); !status) return pass(status);
  const Interrupt interrupt;
  return (*loop)->run(interrupt);
}

Status print_config(const TrainCommand& command, std::ostream& out) {
  auto job = read_job(command.job_file, command.overrides);
  if (!job) return pass(job);
  out << job_text(*job, true);
  return {};
}

}  // namespace nereus::runtime
