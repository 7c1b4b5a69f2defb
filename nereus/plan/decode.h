#pragma once

#include "nereus/plan/time.h"

namespace nereus::plan {

/// Seconds of one decode step of a replica, by what they are spent on.
struct DecodeStep {
  double memory = 0;  ///< reading weights and KV
  double compute = 0;
  double communication = 0, overhead = 0;
  double total() const { return (memory > compute ? memory : compute) + communication + overhead; }
};

/// The roofline of decoding on one replica, prepared so that a step costs a few products. A pipeline's stages
/// work on pp parts of the batch in turn, so that a step of all takes as long as one of a part through all
/// stages. Immutable; thread-safe.
class DecodeCost {
 public:
  DecodeCost(const cluster::DeviceKind& kind, const Link& link, const Model& model, const Layout& layout,
             double weight_bytes, const Calibration& calibration);

  /// Of `batch` sequences of mean context `context`.
  DecodeStep step(double batch, double context) const;

 private:
  Link link_;
  int32_t tp_, pp_;
  double weights_, kv_per_token_;              ///< seconds
  double compute_per_token_, compute_per_kv_;  ///< seconds
  double layers_, message_bytes_;
  double overhead_, overhead_per_sequence_;  ///< seconds
};

/// What generation of one step takes on its slowest replica.
struct Generation {
  double prefill = 0, decode = 0, communication = 0, overhead = 0;  ///< seconds
  double memory = 0;    ///< seconds of `decode` that memory bandwidth sets
  double alone = 0;     ///< seconds the longest response would take on an idle replica
  int64_t running = 0;  ///< sequences that run at once, at most
};
/// `concurrency`: sequences for which the KV pool has room; the others queue. REQUIRES: concurrency >= 1.
Generation generate(const Job& job, const Placement& placement, const Links& links, int64_t concurrency,
                    const Calibration& calibration);

/// Sequences of mean length that fit in a pool: floor(pool / (KV of a token * mean context in whole blocks)).
int64_t concurrency_of(const Job& job, const Placement& placement, double kv_pool_bytes);

}  // namespace nereus::plan
