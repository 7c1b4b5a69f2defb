#pragma once

#include <cstdint>
#include <string_view>

namespace nereus::elastic {

/// What becomes of sequences that are being generated when the plan changes. Their KV is valid under the
/// policy version that made it, and only whole.
enum class KvChoice : uint8_t {
  finish,     ///< the transition waits until they end
  move,       ///< their KV goes with them
  recompute,  ///< they are read again by the new plan
};
std::string_view name_of(KvChoice choice);

struct KvInFlight {
  int64_t bytes = 0;         ///< of KV on the fullest device
  int64_t tokens = 0;        ///< to be read again by the fullest replica
  int64_t longest_left = 0;  ///< tokens that the longest sequence may still sample
  bool same_version = true;  ///< the new plan serves the version that made the KV
  bool same_shards = true;   ///< KV heads and layers lie on ranks that can take them over as they are
};

/// How fast each way goes.
struct KvRates {
  double decode_step = 0.01;  ///< seconds a token
  double bandwidth = 25e9;    ///< bytes per second of a device, one way
  double prefill = 50'000;    ///< tokens per second of a replica
};

struct KvDecision {
  KvChoice choice = KvChoice::recompute;
  double seconds = 0;
};

/// The cheapest of the three. KV is moved only to the same version and the same shards; a sequence that the
/// next version goes on with is read again.
KvDecision decide_kv(const KvInFlight& kv, const KvRates& rates);

}  // namespace nereus::elastic
