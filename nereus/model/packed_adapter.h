#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nereus/ops/packed_linear.h"

namespace nereus::model {

/// An adapter in the form that sampling reads: one entry for each fused layer, empty where it has none, in
/// the order qkv, o, gate_up, down of layer 0, 1, ... Immutable, so thread-safe; base models share none of
/// it.
struct PackedAdapter {
  std::vector<ops::PackedLowRank> linears;
};

/// Consecutive rows of a batch that belong to one adapter; null: the base model alone.
struct AdapterRows {
  int64_t first = 0, rows = 0;
  std::shared_ptr<const PackedAdapter> adapter;
};

/// One fused layer's view of a batch: which adapters its rows have, and which of their entries is its own.
struct LayerAdapters {
  std::span<const AdapterRows> rows;
  size_t linear = 0;

  /// y += what the adapters make of x, each in its rows.
  void add(const at::Tensor& x, at::Tensor& y) const;
};

}  // namespace nereus::model
