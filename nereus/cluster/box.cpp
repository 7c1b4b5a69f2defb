#include "nereus/cluster/box.h"

#include <algorithm>

namespace nereus::cluster {

bool Box::empty() const {
  for (size_t dim = 0; dim < begin.size(); ++dim) {
    if (end[dim] <= begin[dim]) return true;
  }
  return false;
}

int64_t Box::elements() const {
  int64_t count = 1;
  for (size_t dim = 0; dim < begin.size(); ++dim) count *= std::max<int64_t>(0, end[dim] - begin[dim]);
  return count;
}

Box intersection(const Box& a, const Box& b) {
  Box common = a;
  for (size_t dim = 0; dim < a.begin.size(); ++dim) {
    common.begin[dim] = std::max(a.begin[dim], b.begin[dim]);
    common.end[dim] = std::max(common.begin[dim], std::min(a.end[dim], b.end[dim]));
  }
  return common;
}

}  // namespace nereus::cluster
