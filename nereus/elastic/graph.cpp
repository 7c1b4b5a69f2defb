#include "nereus/elastic/graph.h"

namespace nereus::elastic {

std::string_view name_of(Action action) {
  switch (action) {
    case Action::allocate:
      return "allocate";
    case Action::copy:
      return "copy";
    case Action::transfer:
      return "transfer";
    case Action::recreate:
      return "recreate";
    case Action::stage_out:
      return "stage out";
    case Action::release:
      return "release";
    case Action::commit:
      return "commit";
    case Action::create:
      return "create";
  }
  return "?";
}

int32_t Graph::add(const Node& node, std::span<const int32_t> predecessors) {
  nodes.push_back(node);
  before.insert(before.end(), predecessors.begin(), predecessors.end());
  begin.push_back(static_cast<int64_t>(before.size()));
  return count() - 1;
}

}  // namespace nereus::elastic
