#include <algorithm>
#include <cmath>

#include "nereus/simulator/pipeline.h"
#include "nereus/simulator/stage_setup.h"

namespace nereus::simulator {

namespace {

/// The kernels of one micro-batch, worked out once for neighbouring groups with devices of one kind.
class BatchKernels {
 public:
  BatchKernels(const StageSetup& setup, const MicroBatch& batch, double efficiency)
      : setup_(setup), batch_(batch), efficiency_(efficiency) {}

  double layer(int32_t group) {
    look(group);
    return layer_;
  }
  double head(int32_t group) {
    look(group);
    return head_;
  }

 private:
  void look(int32_t group) {
    const KernelTime* kernel = &setup_.kernel(group);
    if (kernel == kernel_) return;
    kernel_ = kernel;
    layer_ = kernel->layer(batch_.work, efficiency_);
    head_ = kernel->head(batch_.responses, efficiency_);
  }

  const StageSetup& setup_;
  const MicroBatch& batch_;
  double efficiency_;
  const KernelTime* kernel_ = nullptr;
  double layer_ = 0, head_ = 0;
};

/// One pass over some of a step's samples: forward, backward, reduction, optimizer.
class Minibatch {
 public:
  Minibatch(const StageSetup& setup, const std::vector<double>& slow)
      : setup_(setup), slow_(slow), work_(static_cast<size_t>(setup.stages())) {
    const auto& model = setup.model();
    const double adapter = setup.size().adapter;
    for (int32_t p = 0; p < setup.stages(); ++p) {
      trained_.push_back(model.lora_rank > 0 ? setup.layers(p) * adapter / setup.placement().layout.tp
                                             : setup.parameters(p));
      shards_.push_back(shards_of(p));
    }
    // With a frozen base the backward pass has no products for the gradients of weights.
    ratio_ = model.lora_rank > 0 ? 0.5 * world().backward_ratio + 0.05 : world().backward_ratio;
  }

  double seconds(const std::vector<std::vector<MicroBatch>>& batches) {
    ends_.assign(static_cast<size_t>(setup_.stages()), 0);
    last_backward_ = ends_;
    for (int32_t d = 0; d < setup_.replicas(); ++d) run_replica(d, batches[static_cast<size_t>(d)]);
    double end = 0;
    for (int32_t p = 0; p < setup_.stages(); ++p) end = std::max(end, finished(p));
    return end;
  }

 private:
  int32_t group(int32_t d, int32_t p) const { return d * setup_.stages() + p; }
  int32_t zero() const { return setup_.placement().zero; }
  const WorldOptions& world() const { return setup_.world(); }

  /// All-reduces of a layer's outputs over the tensor axis, or the same volume under sequence parallelism.
  double tensor_seconds(double tokens) const {
    const double bytes =
        tokens * static_cast<double>(setup_.model().config.hidden) * setup_.job().weight_bytes;
    return 2 * setup_.axes().tensor.all_reduce(bytes);
  }

  /// `layer_links`: seconds of a layer's all-reduces.
  StageWork work_of(int32_t d, int32_t p, double layer_links, BatchKernels& kernels) const {
    const double slow = slow_[static_cast<size_t>(group(d, p))], layers = setup_.layers(p);
    const double layer = layers * kernels.layer(group(d, p)) * slow;
    const double head = setup_.last(p) ? kernels.head(group(d, p)) * slow : 0;
    const double links = layers * layer_links;
    const double again = setup_.placement().recompute ? layer + links : 0;
    const StageWork work{layer + head + links, ratio_ * (layer + head) + links + again};
    if (!shards()) return work;
    const Shards& beside_it = shards_[static_cast<size_t>(p)];
    return {beside(work.forward, beside_it.gather),
            beside(work.backward, beside_it.gather + beside_it.scatter)};
  }

  /// Seconds in which ZeRO-3 gathers weights for each pass, and ZeRO-2 and 3 scatter gradients after each;
  /// both beside the compute.
  struct Shards {
    double gather = 0, scatter = 0;
  };
  bool shards() const { return setup_.axes().data.ranks > 1 && zero() >= 2; }
  Shards shards_of(int32_t p) const {
    if (!shards()) return {};
    const auto& data = setup_.axes().data;
    return {zero() >= 3 ? data.half(setup_.parameters(p) * setup_.job().weight_bytes) : 0,
            data.half(trained_[static_cast<size_t>(p)] * setup_.job().gradient_bytes)};
  }

  double beside(double compute, double communication) const {
    const double both = std::min(compute, communication);
    return std::max(compute, communication) + (world().overlap_slowdown - 1) * both;
  }

  void run_replica(int32_t d, const std::vector<MicroBatch>& batches) {
    work_.clear();
    double tokens = 0;
    for (const auto& batch : batches) {
      if (batch.work.tokens <= 0) continue;
      tokens += batch.work.tokens;
      BatchKernels kernels(setup_, batch, world().train_efficiency);
      const double links = tensor_seconds(batch.work.tokens);
      for (int32_t p = 0; p < setup_.stages(); ++p) work_.add(work_of(d, p, links, kernels));
    }
    const size_t count = work_.count();
    if (count == 0) return;
    const auto ends = one_forward_one_backward(work_, hop(tokens / static_cast<double>(count)));
    for (size_t p = 0; p < ends.size(); ++p) {
      ends_[p] = std::max(ends_[p], ends[p]);
      last_backward_[p] = std::max(last_backward_[p], work_.at(count - 1, p).backward);
    }
  }

  double hop(double tokens) const {
    const double bytes =
        tokens * static_cast<double>(setup_.model().config.hidden) * setup_.job().weight_bytes;
    return setup_.axes().pipeline.send(bytes / setup_.placement().layout.tp);
  }

  /// When stage `p` has reduced its gradients, taken its optimizer step and gathered its weights.
  double finished(int32_t p) const {
    const double trained = trained_[static_cast<size_t>(p)];
    const auto& data = setup_.axes().data;
    double exposed = 0;
    if (data.ranks > 1) {
      const double reduce = zero() < 2 ? data.half(trained * setup_.job().gradient_bytes) : 0;
      const double hidden = std::min(reduce, world().overlap * last_backward_[static_cast<size_t>(p)]);
      exposed = reduce - hidden + (world().overlap_slowdown - 1) * hidden;
      // Weights after the step; without shards of the optimizer the gradients come back instead.
      if (zero() < 3)
        exposed +=
            data.half(trained * (zero() == 0 ? setup_.job().gradient_bytes : setup_.job().weight_bytes));
    }
    const double share = zero() >= 1 ? trained / setup_.replicas() : trained;
    const double optimizer = 30 * share / (setup_.kind(p).memory_bandwidth * world().optimizer_efficiency);
    return ends_[static_cast<size_t>(p)] + exposed + optimizer + world().optimizer_seconds;
  }

  const StageSetup& setup_;
  const std::vector<double>& slow_;
  PipelineWork work_;                         ///< of the replica at hand
  std::vector<double> trained_;               ///< parameters of a rank, by pipeline stage
  std::vector<Shards> shards_;                ///< by pipeline stage
  double ratio_ = 1;                          ///< backward over forward pass
  std::vector<double> ends_, last_backward_;  ///< by pipeline stage, of the slowest replica
};

}  // namespace

double train_seconds(const StageSetup& setup, const StageBatches& batches, const std::vector<double>& slow) {
  Minibatch minibatch(setup, slow);
  double seconds = 0;
  for (const auto& part : batches) seconds += minibatch.seconds(part);
  return seconds * setup.job().epochs;
}

double infer_seconds(const StageSetup& setup, const StageBatches& batches, const std::vector<double>& slow) {
  const auto& world = setup.world();
  const double hidden = static_cast<double>(setup.model().config.hidden) * setup.job().weight_bytes;
  double slowest = 0;
  PipelineWork work(static_cast<size_t>(setup.stages()));
  for (int32_t d = 0; d < setup.replicas(); ++d) {
    work.clear();
    double tokens = 0;
    for (const auto& batch : batches.front()[static_cast<size_t>(d)]) {
      if (batch.work.tokens <= 0) continue;
      tokens += batch.work.tokens;
      BatchKernels kernels(setup, batch, world.infer_efficiency);
      const double links = 2 * setup.axes().tensor.all_reduce(batch.work.tokens * hidden);
      for (int32_t p = 0; p < setup.stages(); ++p) {
        const int32_t group = d * setup.stages() + p;
        const double layer = kernels.layer(group);
        const double head = setup.last(p) ? kernels.head(group) : 0;
        work.add(
            {(setup.layers(p) * layer + head) * slow[static_cast<size_t>(group)] + setup.layers(p) * links,
             0});
      }
    }
    if (work.count() == 0) continue;
    const double bytes = tokens / static_cast<double>(work.count()) * hidden / setup.placement().layout.tp;
    slowest = std::max(slowest, forward_only(work, setup.axes().pipeline.send(bytes)));
  }
  return slowest;
}

}  // namespace nereus::simulator
