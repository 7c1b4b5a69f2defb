#pragma once

#include <cstdint>
#include <vector>

#include "nereus/elastic/model_tensors.h"

namespace nereus::elastic {

/// A box of a tensor that is part of a shard of a flat buffer, and the elements of the buffer that it is.
struct FlatPart {
  int32_t tensor = 0;
  Rect box;
  Interval flat;
};

/// The buffer that an optimizer sharded over the data axis (ZeRO) cuts into intervals: a tensor-parallel
/// rank's part of each of its tensors, one after the other in the table's order, row by row. Immutable.
class FlatBuffer {
 public:
  /// `tensors` ascending: those of one pipeline stage.
  FlatBuffer(const ModelTensors& model, std::vector<int32_t> tensors, int32_t tp, int32_t tensor_index);

  int64_t elements() const { return begin_.back(); }
  /// Shard `data` of `dp`, as even as they come, mapped back to boxes of the tensors.
  std::vector<FlatPart> shard(int32_t dp, int32_t data) const;

 private:
  std::vector<int32_t> tensors_;
  std::vector<Rect> parts_;
  std::vector<int64_t> begin_;  // by tensor; one more than there are
};

}  // namespace nereus::elastic
