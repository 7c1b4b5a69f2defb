#include <fmt/format.h>

#include "nereus/elastic/transition.h"

namespace nereus::elastic {
namespace {

double gigabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

/// The device with the least memory left at its fullest.
std::string tightest(const Transition& transition) {
  int32_t tightest = -1;
  int64_t least = 0;
  for (int32_t place = 0; place < transition.places.devices(); ++place) {
    const auto i = static_cast<size_t>(place);
    const int64_t free = transition.memory.capacity[i] - transition.schedule.peak[i];
    if (tightest < 0 || free < least) tightest = place, least = free;
  }
  if (tightest < 0) return "";
  return fmt::format("tightest: {}, {:.3f} GB free at its fullest\n", transition.places.name(tightest),
                     gigabytes(least));
}

}  // namespace

std::vector<Cell> cells_of(const Transition& transition, const Node& node) {
  std::vector<Cell> cells;
  for (int32_t i = node.first_stream; i < node.last_stream; ++i) {
    const int32_t index = transition.graph().streams[static_cast<size_t>(i)];
    const Stream& stream = transition.cut.streams[static_cast<size_t>(index)];
    cells.insert(cells.end(), transition.cut.cells.begin() + stream.first_cell,
                 transition.cut.cells.begin() + stream.last_cell);
  }
  return cells;
}

std::string to_string(const Transition& transition) {
  const Cost& cost = transition.cost;
  std::string text = fmt::format(
      "{:.3f} s: transfer {:.3f} s (bound {:.3f} s, {}), verification {:.3f} s, warm-up {:.3f} s; "
      "group set-up {:.3f} s\n"
      "{:.3f} GB moved in {} messages, {:.3f} GB of it between machines; "
      "{:.3f} GB copied in place, {:.3f} GB staged through hosts\n",
      cost.total, cost.transfer, cost.bound, cost.busiest, cost.verification, cost.warm_up, cost.group_setup,
      gigabytes(cost.moved_bytes), cost.messages, gigabytes(cost.network_bytes), gigabytes(cost.copied_bytes),
      gigabytes(cost.staged_bytes));
  text += tightest(transition);
  for (const Missing& missing : transition.recovered)
    text += fmt::format("from the checkpoint: {} of {} of the {}\n", name_of(missing.lane), missing.tensor,
                        name_of(missing.role));
  for (const plan::Role role : transition.stepped_back)
    text += fmt::format("the {} goes back to the checkpoint's step\n", name_of(role));
  return text;
}

}  // namespace nereus::elastic
