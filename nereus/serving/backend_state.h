#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nereus::serving {

/// Where a server stands with the proxy. Only one that is `serving` gets requests.
enum class BackendState : uint8_t {
  unknown,  ///< not heard of yet
  syncing,  ///< answers, and is being given the adapters
  serving,  ///< answers, and has every adapter
  ejected,  ///< does not answer, or is not what it was
};

enum class BackendEvent : uint8_t {
  answered,       ///< a health check was answered
  failed,         ///< too many checks or requests in a row failed
  synced,         ///< it has every adapter
  sync_failed,    ///< it refused one, or was lost meanwhile
  lost_adapters,  ///< it answers, but an adapter is gone: it was started anew
  changed_base,   ///< its base model is another one than the other servers'
};

struct BackendTransition {
  BackendState from;
  BackendEvent event;
  BackendState to;
};

std::span<const BackendTransition> backend_transitions();
/// Nothing where the event changes nothing in that state.
std::optional<BackendState> next_state(BackendState state, BackendEvent event);
std::string_view name_of(BackendState state);
std::string_view name_of(BackendEvent event);
/// The table in Markdown, as docs/serving.md shows it.
std::string backend_state_table();

/// Counts failures in a row. Not thread-safe.
class FailureCount {
 public:
  explicit FailureCount(int limit) : limit_(limit) {}
  void succeed() { failures_ = 0; }
  /// Whether there are too many now.
  bool fail() { return ++failures_ >= limit_; }
  int count() const { return failures_; }

 private:
  int limit_, failures_ = 0;
};

}  // namespace nereus::serving
