#pragma once

#include "nereus/cluster/cluster.h"
#include "nereus/plan/job.h"
#include "nereus/simulator/world.h"

namespace nereus::simulator {

/// Parameters of a model as the world counts them.
struct ModelSize {
  double layer = 0;      ///< of one layer, norms included
  double products = 0;   ///< of one layer, those a token is multiplied with
  double embedding = 0;  ///< of the embedding; a tied head is counted again where it is another rank's
  double head = 0;       ///< of the head: the vocabulary's for actor and reference, one value's otherwise
  double adapter = 0;    ///< of one layer's LoRA adapter, 0 without
};
ModelSize size_of(const plan::Model& model);

/// What a pass over sequences costs: their tokens, and the sum of the squares of their lengths (attention).
struct Work {
  double tokens = 0, squares = 0;

  void add(double length) { tokens += length, squares += length * length; }
};

/// Seconds of the world's kernels on one tensor-parallel rank, at speed 1 and without communication.
/// Efficiency grows with the size of a pass. Plain values; thread-safe.
class KernelTime {
 public:
  KernelTime(const WorldOptions& world, const cluster::DeviceKind& kind, const plan::Model& model, int32_t tp,
             double weight_bytes);

  /// One layer forward, `efficiency` of large products.
  double layer(const Work& work, double efficiency) const;
  /// The head forward, for `tokens`.
  double head(double tokens, double efficiency) const;
  /// One decode iteration over `layers` layers, and the head where `last`: `batch` sequences with `context`
  /// tokens of KV in all.
  double decode(double layers, bool last, double batch, double context) const;
  /// Bytes of KV of a token and layer on this rank.
  double kv_bytes() const { return kv_bytes_; }

 private:
  double products(double flops, double efficiency) const;

  WorldOptions world_;
  cluster::DeviceKind kind_;
  ModelSize size_;
  double tp_, weight_bytes_, kv_bytes_;
  double attention_width_;  ///< heads times head size, of a rank
};

}  // namespace nereus::simulator
