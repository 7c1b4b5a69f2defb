#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nereus/serving/block_memory.h"

namespace nereus::serving {

struct RouterOptions {
  size_t block_tokens = 16;   ///< an incomplete block does not count
  int64_t max_ahead = 8;      ///< requests that a server with the prefix may be ahead of the least loaded
  double ahead_share = 0.25;  ///< or this share of the servers' mean load, where that is more
  size_t max_blocks = size_t{1} << 20;  ///< remembered; the ones not used for longest are forgotten
};

/// Why a server was chosen.
enum class RouteReason : uint8_t {
  affinity,  ///< it has the longest specific prefix
  fresh,     ///< no server has one: the least loaded
  spilled,   ///< the one that has it is too far ahead: the least loaded
};

struct Route {
  size_t server = 0;
  RouteReason reason = RouteReason::fresh;
  size_t matched_blocks = 0;  ///< of the prompt, that the server had before
};

/// Hashes of the prompt's whole blocks, each chained to those before it and seeded with the adapter's name: a
/// server's prefix cache is another one for each adapter.
std::vector<uint64_t> block_hashes(std::string_view adapter, std::span<const int32_t> tokens,
                                   size_t block_tokens);
/// For prompts that come as text: blocks of bytes.
std::vector<uint64_t> text_block_hashes(std::string_view adapter, std::string_view text, size_t block_bytes);

/// Sends requests that share a prefix to the server that has it cached. Rules: a block that all servers had,
/// or that was followed by more than one other block, is common and does not decide; the server with the
/// longest specific match gets the request unless it is too many requests ahead of the least loaded, where
/// many run more than where few do; then, and without a match, the least loaded gets it, ties in turn. Not
/// thread-safe.
class PrefixRouter {
 public:
  explicit PrefixRouter(size_t servers, RouterOptions options = {});

  /// Chooses among `eligible` servers and remembers the choice; `running` holds each server's requests.
  /// REQUIRES: both have one entry a server, and at least one server is eligible.
  Route choose(std::span<const uint64_t> blocks, std::span<const int64_t> running,
               const std::vector<bool>& eligible);
  /// A server lost its cache.
  void forget(size_t server);

  size_t remembered() const { return memory_.size(); }
  const RouterOptions& options() const { return options_; }

 private:
  double allowance(std::span<const int64_t> running, const std::vector<bool>& eligible) const;
  size_t least_loaded(std::span<const int64_t> running, const std::vector<bool>& eligible);
  void remember(std::span<const uint64_t> blocks, size_t server);

  RouterOptions options_;
  size_t servers_;
  BlockMemory memory_;
  size_t turn_ = 0;              // where the next search for the least loaded begins
  std::vector<uint32_t> found_;  // entries of the prompt's known blocks, first to last
};

}  // namespace nereus::serving
