#include "nereus/elastic/kv_in_flight.h"

namespace nereus::elastic {

std::string_view name_of(KvChoice choice) {
  switch (choice) {
    case KvChoice::finish:
      return "finish";
    case KvChoice::move:
      return "move";
    case KvChoice::recompute:
      return "recompute";
  }
  return "?";
}

KvDecision decide_kv(const KvInFlight& kv, const KvRates& rates) {
  KvDecision best{KvChoice::recompute, static_cast<double>(kv.tokens) / rates.prefill};
  const double finish = static_cast<double>(kv.longest_left) * rates.decode_step;
  if (finish <= best.seconds) best = {KvChoice::finish, finish};
  const double move = static_cast<double>(kv.bytes) / rates.bandwidth;
  if (kv.same_version && kv.same_shards && move < best.seconds) best = {KvChoice::move, move};
  return best;
}

}  // namespace nereus::elastic
