#include "nereus/serving/routing.h"

#include <algorithm>

namespace nereus::serving {

namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class Element>
uint64_t chain(uint64_t hash, std::span<const Element> block) {
  for (const Element element : block)
    hash = mix(hash + 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(element));
  return hash;
}

template <class Element>
std::vector<uint64_t> hashes(std::string_view adapter, std::span<const Element> elements, size_t block) {
  std::vector<uint64_t> blocks;
  blocks.reserve(elements.size() / block);
  uint64_t hash = chain(adapter.size(), std::span<const char>(adapter));
  for (size_t i = 0; i + block <= elements.size(); i += block)
    blocks.push_back(hash = chain(hash, elements.subspan(i, block)));
  return blocks;
}

}  // namespace

std::vector<uint64_t> block_hashes(std::string_view adapter, std::span<const int32_t> tokens,
                                   size_t block_tokens) {
  return hashes(adapter, tokens, block_tokens);
}

std::vector<uint64_t> text_block_hashes(std::string_view adapter, std::string_view text, size_t block_bytes) {
  return hashes(adapter, std::span<const char>(text), block_bytes);
}

PrefixRouter::PrefixRouter(size_t servers, RouterOptions options)
    : options_(options), servers_(servers), memory_(servers, options.max_blocks) {}

double PrefixRouter::allowance(std::span<const int64_t> running, const std::vector<bool>& eligible) const {
  double sum = 0, count = 0;
  for (size_t server = 0; server < servers_; ++server) {
    if (!eligible[server]) continue;
    sum += static_cast<double>(running[server]);
    ++count;
  }
  return std::max(static_cast<double>(options_.max_ahead), options_.ahead_share * sum / count);
}

size_t PrefixRouter::least_loaded(std::span<const int64_t> running, const std::vector<bool>& eligible) {
  size_t best = servers_;
  for (size_t i = 0; i < servers_; ++i) {
    const size_t server = (turn_ + i) % servers_;
    if (eligible[server] && (best == servers_ || running[server] < running[best])) best = server;
  }
  turn_ = (best + 1) % servers_;
  return best;
}

void PrefixRouter::remember(std::span<const uint64_t> blocks, size_t server) {
  // Last to first: the end of a prompt is forgotten before its beginning, which others share.
  for (size_t i = blocks.size(); i-- > 0;) {
    const uint32_t entry = memory_.add(blocks[i]);
    memory_.set_had(entry, server);
    if (i + 1 < blocks.size()) memory_.set_successor(entry, blocks[i + 1]);
  }
}

Route PrefixRouter::choose(std::span<const uint64_t> blocks, std::span<const int64_t> running,
                           const std::vector<bool>& eligible) {
  const auto usable = static_cast<size_t>(std::ranges::count(eligible, true));
  // Beyond the memory's size the beginning would push itself out.
  blocks = blocks.first(std::min(blocks.size(), options_.max_blocks));
  found_.clear();
  for (const uint64_t block : blocks) {
    const uint32_t entry = memory_.find(block);
    if (entry == BlockMemory::kNone) break;
    found_.push_back(entry);
  }
  size_t holder = servers_;
  for (size_t i = found_.size(); i-- > 0 && holder == servers_;) {
    const uint32_t entry = found_[i];
    if (memory_.has_several_successors(entry) || (usable > 1 && memory_.holders(entry) >= usable)) continue;
    for (size_t server = 0; server < servers_; ++server)
      if (eligible[server] && memory_.had(entry, server) &&
          (holder == servers_ || running[server] < running[holder]))
        holder = server;
  }
  Route route;
  if (holder == servers_) {
    route = {least_loaded(running, eligible), RouteReason::fresh, 0};
  } else {
    const size_t turn = turn_;
    const size_t least = least_loaded(running, eligible);
    const bool spill = static_cast<double>(running[holder] - running[least]) > allowance(running, eligible);
    if (!spill) turn_ = turn;
    route = {spill ? least : holder, spill ? RouteReason::spilled : RouteReason::affinity, 0};
  }
  for (const uint32_t entry : found_) route.matched_blocks += memory_.had(entry, route.server) ? 1 : 0;
  remember(blocks, route.server);
  return route;
}

void PrefixRouter::forget(size_t server) {
  memory_.forget_server(server);
}

}  // namespace nereus::serving
