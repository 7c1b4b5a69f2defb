#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/cluster/cluster.h"
#include "nereus/plan/time.h"
#include "nereus/spec/model_config.h"

namespace nereus::control {

enum class LayerKind : uint8_t { embedding, layer, norm, head };
inline constexpr size_t kLayerKinds = 4;

/// Seconds of one layer for one micro-batch, and of its optimizer update.
struct LayerSeconds {
  double forward = 0, backward = 0, update = 0;
};

/// Measured layers of a model in order: the embedding, the layers, the final norm, the head.
struct LayerProfile {
  int64_t sequence = 0;     ///< tokens of a sequence
  int32_t micro_batch = 1;  ///< sequences
  int32_t tp = 1;
  std::vector<LayerSeconds> layers = {};
};

/// Times of a model's layers at any micro-batch and tensor size, from one profile: each kind of layer has one
/// factor a direction to the vendor's figures. Analytic time = products and attention at the peak, plus the
/// passes over scores (attention that writes them) and over activations at the memory's bandwidth, plus the
/// all-reduces of the tensor axis. Products, scores, head and update are divided by tp; norms and residuals
/// are not; all but the update grow with the micro-batch.
class LayerModel {
 public:
  /// Error: other layers than the model has, or none measured. A time of 0 means that it was not measured.
  static Result<LayerModel> fit(const spec::ModelConfig& config, const cluster::DeviceKind& device,
                                const LayerProfile& profile);

  LayerSeconds seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const;
  /// `base` with the efficiencies that were measured: shares of the peak that the model's FLOPs reach in
  /// inference and in training.
  plan::Calibration calibration(plan::Calibration base) const;

 private:
  double device_seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const;
  double link_seconds(LayerKind kind, int32_t micro_batch, int32_t tp) const;

  spec::ModelConfig config_;
  cluster::DeviceKind device_;
  int64_t sequence_ = 0;
  std::array<double, kLayerKinds> forward_{}, backward_{};  // measured / analytic
  std::array<double, kLayerKinds> update_{};                // seconds of the whole layer, tp = 1
};

/// Kind of layer `index` of a profile with `count` layers.
LayerKind kind_of_layer(size_t index, size_t count);

}  // namespace nereus::control
