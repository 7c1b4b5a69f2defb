#pragma once

#include <cstdint>

namespace nereus::cluster {

/// How a logical tensor is divided over the tensor-parallel axis.
enum class Shard : uint8_t {
  replicated,  ///< whole on every rank
  rows,        ///< dim 0 split (outputs of a column-parallel linear layer, the vocabulary)
  columns,     ///< dim 1 split (inputs of a row-parallel linear layer)
};

}  // namespace nereus::cluster
