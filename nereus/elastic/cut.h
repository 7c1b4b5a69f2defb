#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nereus/elastic/slices.h"

namespace nereus::elastic {

/// Where state comes from that no device holds any more.
enum class Recovery : uint8_t {
  none,     ///< refused
  current,  ///< a checkpoint of this very step
  older,    ///< a checkpoint of an earlier step: a trained model that lost anything goes back to it whole
};

/// State of one tensor that only lost devices held, or that nobody had.
struct Missing {
  plan::Role role = plan::Role::actor;
  LaneKind lane = LaneKind::weights;
  std::string tensor;
  int64_t bytes = 0;  ///< of one copy
};

/// Cells of one bundle that the same places hold and the same places need.
struct Stream {
  int32_t sources = 0;   ///< set of places that hold them
  int32_t wanted = 0;    ///< set of places that have to receive them
  int32_t local = 0;     ///< set of places that hold and need them
  int32_t recreate = 0;  ///< set of places that make them from their master weights
  int64_t bytes = 0;
  int32_t first_cell = 0, last_cell = 0;  ///< [first, last) of Cut::cells
};

struct PlaceBytes {
  int32_t place = 0;
  int64_t bytes = 0;
};

/// Neighbouring tensors of one lane of one model: what is allocated, filled and let go together.
struct Bundle {
  int32_t model = 0;
  LaneKind lane = LaneKind::weights;
  int32_t first_tensor = 0, last_tensor = 0;    ///< [first, last)
  int32_t first_stream = 0, last_stream = 0;    ///< of Cut::streams
  int32_t first_fill = 0, last_fill = 0;        ///< of Cut::fill
  int32_t first_release = 0, last_release = 0;  ///< of Cut::release
  int32_t after = -1;                           ///< the bundle whose masters it is made from, or -1
};

/// One model's state before and after.
struct ModelChange {
  ModelTensors tensors;
  ModelState before = {};  ///< all that takes memory
  ModelState valid = {};   ///< what of it can be read: without lost places, empty after a step back
  ModelState after = {};
};

struct CutOptions {
  int64_t bundle_bytes = int64_t{256} << 20;  ///< of a bundle on one place; one tensor may be more
  int64_t max_hops = 300'000;                 ///< bundles grow where there would be more pairs of endpoints
  bool recreate_weights = false;              ///< low-precision weights are made from masters where these are
  Recovery recovery = Recovery::none;
};

/// What a transition has to move, without how: bundles, and memory that has to come and go. Flat arrays.
struct Cut {
  std::vector<Cell> cells;
  std::vector<Stream> streams;
  std::vector<PlaceBytes> fill;     ///< new pieces by place: bytes that have to be there before the old go
  std::vector<PlaceBytes> release;  ///< old pieces by place that the new state does not keep
  std::vector<Bundle> bundles;
  std::vector<PlaceBytes> drop;    ///< memory that holds nothing of worth: gradients, invalid state
  std::vector<PlaceBytes> create;  ///< memory that is wanted empty in the end: gradients
  std::vector<Missing> missing;
};

/// A piece is kept where a place has the same box before and after; any other is filled anew. Errors: state
/// that is nowhere, where recovery is none; each is named.
Result<Cut> cut(const Places& places, const std::vector<ModelChange>& changes, PlaceSets& sets,
                const CutOptions& options);

}  // namespace nereus::elastic
