#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace nereus::elastic {

enum class Action : uint8_t {
  allocate,   ///< the bundle's new pieces on `place`
  copy,       ///< what `place` holds of the bundle already goes from its old pieces into the new ones
  transfer,   ///< streams go from `source` to `place`
  recreate,   ///< weights of the bundle are made from the master weights on `place`
  stage_out,  ///< the bundle's old pieces on `source` go to its host, `place`, and can be read there
  release,    ///< the bundle's old pieces on `place` go
  commit,     ///< every rank has checked what it received; from here on the new plan holds
  create,     ///< memory that begins empty on `place`: gradients, then the KV pool
};
std::string_view name_of(Action action);

/// One thing to do.
struct Node {
  Action action = Action::commit;
  int32_t place = -1;   ///< whose memory changes, or that receives
  int32_t source = -1;  ///< of transfers: the place that sends. Staged pieces are sent by the host
  int32_t bundle = -1;  ///< -1: memory that holds no state to be kept
  int32_t depth = 0;    ///< of transfers: above 0, the source passes on what it received
  int32_t origin = -1;  ///< of transfers and copies: the place whose old pieces are read, also where they are
                        ///< staged; -1 where the source passes on
  int64_t bytes = 0;
  int32_t first_stream = 0, last_stream = 0;  ///< of transfers: [first, last) of Graph::streams
};

/// What has to happen before what. Nodes stand in one order that respects it, and every order that respects
/// it keeps within each place's memory. A plain value.
struct Graph {
  std::vector<Node> nodes;
  std::vector<int64_t> begin = {0};  ///< into `before`, by node; one more than there are nodes
  std::vector<int32_t> before;       ///< nodes that must be done first
  std::vector<int32_t> streams;      ///< numbers of the streams that transfers carry

  std::span<const int32_t> predecessors(int32_t node) const {
    const auto index = static_cast<size_t>(node);
    return {before.data() + begin[index], static_cast<size_t>(begin[index + 1] - begin[index])};
  }
  /// Appends a node after those in `predecessors`, and returns its number.
  int32_t add(const Node& node, std::span<const int32_t> predecessors);
  int32_t count() const { return static_cast<int32_t>(nodes.size()); }
};

}  // namespace nereus::elastic
