#include "nereus/elastic/flat_buffer.h"

#include <algorithm>

namespace nereus::elastic {

FlatBuffer::FlatBuffer(const ModelTensors& model, std::vector<int32_t> tensors, int32_t tp,
                       int32_t tensor_index)
    : tensors_(std::move(tensors)), begin_{0} {
  for (const int32_t tensor : tensors_) {
    parts_.push_back(model.part(tensor, tp, tensor_index));
    begin_.push_back(begin_.back() + parts_.back().elements());
  }
}

std::vector<FlatPart> FlatBuffer::shard(int32_t dp, int32_t data) const {
  const Interval shard = even_part(elements(), dp, data);
  std::vector<FlatPart> result;
  const auto after = std::upper_bound(begin_.begin(), begin_.end(), shard.begin);
  for (auto i = static_cast<size_t>(after - begin_.begin()) - 1; i < parts_.size(); ++i) {
    if (begin_[i] >= shard.end) break;
    int64_t at = std::max(begin_[i], shard.begin);
    const int64_t end = std::min(begin_[i + 1], shard.end);
    for (const Rect& rect : interval_rects(parts_[i], at - begin_[i], end - begin_[i])) {
      result.push_back({tensors_[i], rect, {at, at + rect.elements()}});
      at += rect.elements();
    }
  }
  return result;
}

}  // namespace nereus::elastic
