#include "nereus/runtime/network_probe.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace nereus::runtime {

namespace {

// A request is a kind and a number of bytes that follow it; the answer is one byte when all have come.
struct Request {
  char kind = 0;
  uint8_t pad[7] = {};
  uint64_t bytes = 0;
};
constexpr char kProbe = 'n';
constexpr uint64_t kMostBytes = uint64_t{1} << 30, kBlock = uint64_t{1} << 20;
constexpr int kPatience = 10;  // seconds without a byte

/// A socket that is closed with the object.
class Socket {
 public:
  explicit Socket(int file) : file_(file) {}
  ~Socket() {
    if (file_ >= 0) ::close(file_);
  }
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  int file() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

void set_up(int file) {
  const int on = 1;
  const timeval patience{kPatience, 0};
  ::setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Status send_all(int file, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(file, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return fail("sending: {}", std::strerror(errno));
    next += sent;
    size -= static_cast<size_t>(sent);
  }
  return {};
}

/// True when all came, false where the other side closed before the first byte.
Result<bool> receive_all(int file, void* data, size_t size) {
  size_t got = 0;
  while (got < size) {
    const ssize_t received = ::recv(file, static_cast<char*>(data) + got, size - got, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return fail("receiving: {}", std::strerror(errno));
    if (received == 0 && got == 0) return false;
    if (received == 0) return fail("receiving: the other side closed in the middle");
    got += static_cast<size_t>(received);
  }
  return true;
}

Status swallow(int file, uint64_t bytes, std::vector<char>& block) {
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(bytes, block.size()));
    const auto got = receive_all(file, block.data(), part);
    if (!got) return pass(got);
    if (!*got) return fail("receiving: the other side closed in the middle");
    bytes -= part;
  }
  return {};
}

/// Sends `bytes` and waits until they have come.
Status exchange(int file, uint64_t bytes, const std::vector<char>& block) {
  const Request request{kProbe, {}, bytes};
  if (auto status = send_all(file, &request, sizeof request); !status) return status;
  for (uint64_t left = bytes; left > 0;) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(left, block.size()));
    if (auto status = send_all(file, block.data(), part); !status) return status;
    left -= part;
  }
  char answer = 0;
  const auto got = receive_all(file, &answer, 1);
  if (!got) return pass(got);
  if (!*got || answer != kProbe) return fail("expected the answer of nereus profile --listen");
  return {};
}

Result<Socket> connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return fail("{}: expected HOST:PORT", address);
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    return fail("{}: {}", address, ::gai_strerror(error));
  std::string reason = "no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, each->ai_socktype, each->ai_protocol));
    if (socket.file() < 0) continue;
    set_up(socket.file());
    if (::connect(socket.file(), each->ai_addr, each->ai_addrlen) == 0) {
      ::freeaddrinfo(found);
      return socket;
    }
    reason = std::strerror(errno);
  }
  ::freeaddrinfo(found);
  return fail("{}: {}", address, reason);
}

/// The shortest of many round trips, halved.
Result<double> latency(int file, const std::vector<char>& block, const Clock& clock) {
  constexpr int kTrips = 200;
  double best = 1e9;
  for (int i = 0; i < kTrips; ++i) {
    const double begin = clock.now();
    if (auto status = exchange(file, 0, block); !status) return pass(status);
    best = std::min(best, clock.now() - begin);
  }
  return best / 2;
}

/// Ever more bytes, until one transfer takes half of `seconds`.
Result<double> bandwidth(int file, const std::vector<char>& block, double seconds, const Clock& clock) {
  double rate = 0;
  for (uint64_t bytes = kBlock; bytes <= kMostBytes; bytes *= 2) {
    const double begin = clock.now();
    if (auto status = exchange(file, bytes, block); !status) return pass(status);
    const double passed = std::max(clock.now() - begin, 1e-9);
    rate = std::max(rate, static_cast<double>(bytes) / passed);
    if (passed > seconds / 2) break;
  }
  return rate;
}

}  // namespace

Result<ProbeServer> ProbeServer::listen(uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (socket.file() < 0 || ::setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.file(), any, size) != 0 || ::listen(socket.file(), 4) != 0 ||
      ::getsockname(socket.file(), any, &size) != 0)
    return fail("port {}: {}", port, std::strerror(errno));
  return ProbeServer(socket.release(), ntohs(address.sin_port));
}

ProbeServer::ProbeServer(ProbeServer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}

ProbeServer::~ProbeServer() {
  if (socket_ >= 0) ::close(socket_);
}

Status ProbeServer::serve_one() {
  const Socket client(::accept(socket_, nullptr, nullptr));
  if (client.file() < 0) return fail("port {}: {}", port_, std::strerror(errno));
  set_up(client.file());
  std::vector<char> block(kBlock);
  while (true) {
    Request request;
    const auto got = receive_all(client.file(), &request, sizeof request);
    if (!got) return pass(got);
    if (!*got) return {};
    if (request.kind != kProbe || request.bytes > kMostBytes)
      return fail("port {}: expected a probe of nereus profile --to", port_);
    if (auto status = swallow(client.file(), request.bytes, block); !status) return status;
    if (auto status = send_all(client.file(), &kProbe, 1); !status) return status;
  }
}

Result<NetworkSpeed> probe_network(const std::string& address, double seconds, const Clock& clock) {
  const auto socket = connect_to(address);
  if (!socket) return pass(socket);
  const std::vector<char> block(kBlock);
  const auto wait = latency(socket->file(), block, clock);
  if (!wait) return fail("{}: {}", address, wait.error().message);
  const auto rate = bandwidth(socket->file(), block, seconds, clock);
  if (!rate) return fail("{}: {}", address, rate.error().message);
  return NetworkSpeed{*rate, *wait};
}

}  // namespace nereus::runtime
