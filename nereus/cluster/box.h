#pragma once

#include <cstdint>
#include <vector>

namespace nereus::cluster {

/// A half-open box in the global coordinates of a tensor: [begin[i], end[i]) in every dim.
struct Box {
  std::vector<int64_t> begin, end;

  bool empty() const;
  int64_t elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// The common part; empty where there is none. REQUIRES: equal numbers of dims.
Box intersection(const Box& a, const Box& b);

}  // namespace nereus::cluster
