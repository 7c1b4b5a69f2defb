#include "nereus/http/connection_pool.h"

namespace nereus::http {

bool ConnectionPool::fresh(const Idle& idle, double now) const {
  return now - idle.since < idle_seconds_ && !idle.connection->ended() && idle.connection->input().empty();
}

std::shared_ptr<Connection> ConnectionPool::take(const Url& origin) {
  const auto found = waiting_.find(origin);
  if (found == waiting_.end()) return nullptr;
  const double now = clock_.now();
  while (!found->second.empty()) {
    Idle idle = std::move(found->second.back());
    found->second.pop_back();
    if (fresh(idle, now)) return std::move(idle.connection);
    idle.connection->close();
  }
  return nullptr;
}

void ConnectionPool::give_back(const Url& origin, std::shared_ptr<Connection> connection) {
  auto& waiting = waiting_[origin];
  const double now = clock_.now();
  while (!waiting.empty() && !fresh(waiting.front(), now)) {
    waiting.front().connection->close();
    waiting.pop_front();
  }
  if (closed_ || waiting.size() >= max_idle_) return connection->close();
  waiting.push_back({std::move(connection), now});
}

void ConnectionPool::close() {
  closed_ = true;
  for (auto& [origin, waiting] : waiting_)
    for (auto& idle : waiting) idle.connection->close();
  waiting_.clear();
}

size_t ConnectionPool::idle() const {
  size_t count = 0;
  for (const auto& [origin, waiting] : waiting_) count += waiting.size();
  return count;
}

}  // namespace nereus::http
