#include "nereus/tasks/data_order.h"

#include "nereus/tasks/permutation.h"

namespace nereus::tasks {

uint64_t DataOrder::index(uint64_t cursor) const {
  const uint64_t place = cursor % size_;
  return shuffle_ ? Permutation(size_, seed_, epoch(cursor))(place) : place;
}

}  // namespace nereus::tasks
