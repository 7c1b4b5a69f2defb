#include "nereus/serving/backend_state.h"

#include <fmt/format.h>

namespace nereus::serving {

namespace {

using enum BackendState;
using Event = BackendEvent;

constexpr BackendTransition kTransitions[] = {
    {unknown, Event::answered, syncing},      {unknown, Event::failed, ejected},
    {unknown, Event::changed_base, ejected},  {syncing, Event::synced, serving},
    {syncing, Event::sync_failed, ejected},   {syncing, Event::failed, ejected},
    {syncing, Event::changed_base, ejected},  {serving, Event::failed, ejected},
    {serving, Event::lost_adapters, syncing}, {serving, Event::changed_base, ejected},
    {ejected, Event::answered, syncing},
};

constexpr std::string_view kStates[] = {"unknown", "syncing", "serving", "ejected"};
constexpr std::string_view kEvents[] = {"answered",    "failed",        "synced",
                                        "sync_failed", "lost_adapters", "changed_base"};

}  // namespace

std::span<const BackendTransition> backend_transitions() {
  return kTransitions;
}

std::optional<BackendState> next_state(BackendState state, BackendEvent event) {
  for (const auto& transition : kTransitions)
    if (transition.from == state && transition.event == event) return transition.to;
  return std::nullopt;
}

std::string_view name_of(BackendState state) {
  return kStates[static_cast<size_t>(state)];
}

std::string_view name_of(BackendEvent event) {
  return kEvents[static_cast<size_t>(event)];
}

std::string backend_state_table() {
  std::string table = "| from | event | to |\n| --- | --- | --- |\n";
  for (const auto& t : kTransitions)
    table += fmt::format("| {} | {} | {} |\n", name_of(t.from), name_of(t.event), name_of(t.to));
  return table;
}

}  // namespace nereus::serving
