#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nereus::test {

/// A blocking connection to a port of this machine, for clients that misbehave.
class RawSocket {
 public:
  explicit RawSocket(uint16_t port, double seconds = 20) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    timeval limit = {static_cast<time_t>(seconds), 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  ~RawSocket() { close(); }

  /// Whether all was taken.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  /// What comes next; "" at the end, or after the time limit.
  std::string receive(size_t most = 65536) {
    std::string text(most, '\0');
    ssize_t got = 0;
    do got = ::recv(fd_, text.data(), text.size(), 0);
    while (got < 0 && errno == EINTR);  // as a process that was stopped for a moment gets
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  /// Whether something has come, or the other side has closed.
  bool readable() {
    char byte = 0;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
  /// Until `mark` has come, or nothing more does.
  std::string receive_until(std::string_view mark) {
    std::string text;
    while (text.find(mark) == std::string::npos) {
      const std::string piece = receive();
      if (piece.empty()) break;
      text += piece;
    }
    return text;
  }
  std::string receive_all() { return receive_until(std::string_view("\0never\0", 7)); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// Ends with a reset instead of in good order.
  void reset() {
    const linger now = {1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void receive_little() {
    const int bytes = 2048;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }

 private:
  int fd_;
};

}  // namespace nereus::test
