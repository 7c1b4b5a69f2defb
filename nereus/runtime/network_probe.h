#pragma once

#include <cstdint>
#include <string>

#include "nereus/base/clock.h"
#include "nereus/base/result.h"

namespace nereus::runtime {

/// What one TCP stream to another machine reaches.
struct NetworkSpeed {
  double bandwidth = 0;  ///< bytes per second, one way
  double latency = 0;    ///< seconds of a small message, one way: half of a round trip
};

/// Answers probes of other machines. Takes nothing but counts of bytes, which it throws away. Not
/// thread-safe.
class ProbeServer {
 public:
  /// Port 0: any free one.
  static Result<ProbeServer> listen(uint16_t port);
  ProbeServer(ProbeServer&& other) noexcept;
  ProbeServer& operator=(ProbeServer&&) = delete;
  ~ProbeServer();

  uint16_t port() const { return port_; }
  /// Waits for one machine and answers it until it goes. Error: what went wrong with it; the next may be
  /// served.
  Status serve_one();

 private:
  ProbeServer(int socket, uint16_t port) : socket_(socket), port_(port) {}
  int socket_;
  uint16_t port_;
};

/// Measures the network to a ProbeServer at "HOST:PORT" for about `seconds`.
Result<NetworkSpeed> probe_network(const std::string& address, double seconds, const Clock& clock);

}  // namespace nereus::runtime
