#pragma once

#include <deque>
#include <map>
#include <memory>

#include "nereus/base/clock.h"
#include "nereus/http/connection.h"
#include "nereus/http/url.h"

namespace nereus::http {

/// Connections of a client that wait for another request, by origin. Lives on the loop's thread.
class ConnectionPool {
 public:
  /// `idle_seconds`: how long one waits; `max_idle`: how many of one origin.
  ConnectionPool(double idle_seconds, size_t max_idle) : idle_seconds_(idle_seconds), max_idle_(max_idle) {}

  /// The one that was used last, so that the others may become too old; null where there is none.
  std::shared_ptr<Connection> take(const Url& origin);
  void give_back(const Url& origin, std::shared_ptr<Connection> connection);
  /// Closes all, and each that is given back from now on.
  void close();
  size_t idle() const;

 private:
  struct Idle {
    std::shared_ptr<Connection> connection;
    double since = 0;
  };
  bool fresh(const Idle& idle, double now) const;

  const double idle_seconds_;
  const size_t max_idle_;
  SteadyClock clock_;
  std::map<Url, std::deque<Idle>, OriginLess> waiting_;  // oldest first
  bool closed_ = false;
};

}  // namespace nereus::http
