#include "nereus/plan/passes.h"

#include <algorithm>
#include <vector>

#include "nereus/plan/model_size.h"

namespace nereus::plan {
namespace {

/// Bytes that AdamW reads and writes of a parameter: master and moments both ways, gradient, weight.
constexpr double kOptimizerBytes = 30;

/// How often the forward pass is paid, in FLOPs and in all-reduces of the tensor axis.
struct Repeats {
  double flops = 1, collectives = 1;
};

Repeats repeats_of(const Model& model, const Placement& placement) {
  if (placement.what.stage == Stage::infer) return {};
  // The frozen base of an adapter has no gradients of weights: two passes in place of three.
  const double again = placement.recompute ? 1 : 0;
  return {(model.lora_rank > 0 ? 2 : 3) + again, 2 + again};
}

/// A pipeline stage's seconds for one micro-batch.
struct StageCost {
  double compute = 0, communication = 0;
  double total() const { return compute + communication; }
};

/// All that a placement's formulas are made of.
struct Run {
  const Job& job;
  const Placement& placement;
  const Model& model;
  const Links& links;
  const Calibration& calibration;
  const std::vector<RankSize>& sizes;  ///< by pipeline index
  const RegimeFactors& factors;

  bool trains() const { return placement.what.stage == Stage::train; }
  double efficiency() const { return trains() ? calibration.train_efficiency : calibration.infer_efficiency; }
  double memory_bandwidth() const { return links.slowest.memory_bandwidth * calibration.memory_efficiency; }
};

/// An average micro-batch.
struct Pass {
  Repeats repeats;
  Work work;
};

/// The slower of products and reading the weights, and what each layer's kernels lose.
double compute_seconds(const Run& run, const Pass& pass, const RankSize& size) {
  const spec::ModelConfig& config = run.model.config;
  double flops = pass.repeats.flops * forward_flops(config, size, run.placement.layout.tp, pass.work.tokens,
                                                    pass.work.squares, pass.work.scored);
  flops += (run.trains() ? 3 : 1) * 2 * size.adapter * pass.work.tokens;
  const double products = flops / (run.links.slowest.flops * run.efficiency());
  const double reading = pass.repeats.flops * run.job.weight_bytes * size.products / run.memory_bandwidth();
  const double launches =
      pass.repeats.flops * run.calibration.layer_overhead * static_cast<double>(size.layers.count());
  return std::max(products, reading) + launches;
}

/// All-reduces of the tensor axis, two a layer and pass, and sends to the next pipeline stage.
double communication_seconds(const Run& run, const Pass& pass, const RankSize& size) {
  const double bytes = run.job.weight_bytes * pass.work.tokens * static_cast<double>(run.model.config.hidden);
  const int32_t tp = run.placement.layout.tp;
  const double tensor = 2 * pass.repeats.collectives * static_cast<double>(size.layers.count()) *
                        all_reduce(run.links.tensor, tp, bytes) * run.factors.factor(Operation::tensor_link);
  if (size.last) return tensor;
  const double hops = run.trains() ? 2 : 1;
  return tensor + hops * (bytes / tp / run.links.pipeline.bandwidth + run.links.pipeline.latency) *
                      run.factors.factor(Operation::pipeline_link);
}

/// Whether a pipeline stage has the same to do as the one before it, as most in the middle have.
bool like_previous(const std::vector<RankSize>& sizes, size_t p) {
  if (p == 0) return false;
  const RankSize &a = sizes[p - 1], &b = sizes[p];
  return a.layers.count() == b.layers.count() && a.first == b.first && a.last == b.last;
}

std::vector<StageCost> stage_costs(const Run& run, const Pass& pass) {
  std::vector<StageCost> costs;
  costs.reserve(run.sizes.size());
  for (size_t p = 0; p < run.sizes.size(); ++p) {
    if (like_previous(run.sizes, p))
      costs.push_back(costs.back());
    else
      costs.push_back(
          {compute_seconds(run, pass, run.sizes[p]), communication_seconds(run, pass, run.sizes[p])});
  }
  return costs;
}

double trained_parameters(const Run& run, const RankSize& size) {
  return run.model.lora_rank > 0 ? size.adapter : size.weights;
}

/// Seconds of the data axis in one update: what may run beside the compute, and what comes after the
/// optimizer.
struct DataSeconds {
  double beside = 0, after = 0;
};

/// Gradients and weights of one update over the data axis. Of an all-reduce the second half counts as after.
DataSeconds data_seconds(const Run& run, double micro_batches, const RankSize& size) {
  const Placement& placement = run.placement;
  const Link& link = run.links.data;
  const int32_t dp = placement.layout.dp;
  const double trained = trained_parameters(run, size), frozen = size.weights + size.adapter - trained;
  const double gradients = trained * run.job.gradient_bytes, weights = trained * run.job.weight_bytes;
  const double reduce = all_gather(link, dp, gradients), gather = all_gather(link, dp, weights);
  DataSeconds seconds;
  if (placement.zero == 0) {
    seconds = {all_reduce(link, dp, gradients) / 2, all_reduce(link, dp, gradients) / 2};
  } else if (placement.zero == 1) {
    seconds = {reduce, gather};
  } else if (placement.zero == 2) {
    seconds = {micro_batches * reduce, gather};
  } else {
    // Weights arrive for the forward and for the backward pass of every micro-batch.
    const double all = all_gather(link, dp, weights + frozen * run.job.weight_bytes);
    seconds = {micro_batches * (reduce + 2 * all), 0};
  }
  const double factor = run.factors.factor(Operation::data_link);
  return {seconds.beside * factor, seconds.after * factor};
}

/// What the data axis adds to an update. Gradients travel beside the backward pass of the last micro-batch,
/// or of each where each sends them; gathered weights beside all passes. `flops`, `compute`: how often the
/// forward pass is paid, and seconds of a micro-batch.
double exposed_data_seconds(const Run& run, double micro_batches, double flops, double compute) {
  if (run.placement.layout.dp < 2) return 0;
  double beside = 0, after = 0;
  for (size_t p = 0; p < run.sizes.size(); ++p) {
    if (like_previous(run.sizes, p)) continue;
    const DataSeconds seconds = data_seconds(run, micro_batches, run.sizes[p]);
    beside = std::max(beside, seconds.beside);
    after = std::max(after, seconds.after);
  }
  const double backward = run.placement.zero >= 3 ? 1 : 1 - 1 / flops;
  const double over = backward * compute * (run.placement.zero >= 2 ? micro_batches : 1);
  return exposed(beside, over, run.calibration.overlap_slowdown) + after;
}

double optimizer_seconds(const Run& run) {
  double most = 0;
  for (const RankSize& size : run.sizes) most = std::max(most, trained_parameters(run, size));
  const double local = most / (run.placement.zero >= 1 ? run.placement.layout.dp : 1);
  return kOptimizerBytes * local / run.memory_bandwidth() * run.factors.factor(Operation::optimizer);
}

Bound bound_of(const StageTime& time) {
  if (time.communication > time.compute + time.bubble) return Bound::link;
  return time.optimizer > time.compute + time.bubble ? Bound::memory_bandwidth : Bound::compute;
}

}  // namespace

double exposed(double communication, double compute, double slowdown) {
  const double both = std::min(communication, compute);
  return std::min(communication, std::max(communication - compute, 0.0) + (slowdown - 1) * both);
}

PassTimes::Passes PassTimes::passes_of(const Placement& placement) const {
  const Run run{job_, placement, *job_.find(placement.what.role), links_, calibration_, sizes_, factors_};
  const double micro_batches = static_cast<double>(plan::micro_batches(job_, placement));
  const Pass pass{repeats_of(run.model, placement),
                  work_of_slowest(job_, placement, sequence_) * (1 / micro_batches)};
  const std::vector<StageCost> costs = stage_costs(run, pass);
  const auto slowest =
      *std::max_element(costs.begin(), costs.end(),
                        [](const StageCost& a, const StageCost& b) { return a.total() < b.total(); });
  double all_others = -slowest.total();
  for (const StageCost& cost : costs) all_others += cost.total();
  return {.micro_batch = placement.micro_batch,
          .recompute = placement.recompute,
          .micro_batches = micro_batches,
          .flops = pass.repeats.flops,
          .compute = slowest.compute,
          .communication = slowest.communication,
          .all_others = all_others};
}

StageTime PassTimes::of(const Placement& placement) {
  if (passes_.micro_batch != placement.micro_batch || passes_.recompute != placement.recompute)
    passes_ = passes_of(placement);
  StageTime time{.what = placement.what};
  time.compute = passes_.micro_batches * passes_.compute;
  time.communication = passes_.micro_batches * passes_.communication;
  time.bubble = passes_.all_others;
  if (placement.what.stage == Stage::train) {
    const Run run{job_, placement, *job_.find(placement.what.role), links_, calibration_, sizes_, factors_};
    const double count = static_cast<double>(updates(job_));
    time.communication += exposed_data_seconds(run, passes_.micro_batches, passes_.flops, passes_.compute);
    time.compute *= count;
    time.communication *= count;
    time.bubble *= count;
    time.optimizer = count * optimizer_seconds(run);
  }
  time.bound = bound_of(time);
  return time;
}

}  // namespace nereus::plan
