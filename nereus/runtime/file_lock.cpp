#include "nereus/runtime/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace nereus::runtime {

namespace {

std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
  return size > 0 ? "process " + std::string(text, static_cast<size_t>(size)) : "another process";
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& file) {
  FileLock lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.descriptor_ < 0)
    return fail("{}: cannot create the lock: {}", file.string(), std::strerror(errno));
  if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail("{}: cannot lock: {}", file.string(), std::strerror(errno));
    return fail("{}: {} is using this run", file.parent_path().string(), holder(lock.descriptor_));
  }
  const std::string id = std::to_string(getpid());
  if (ftruncate(lock.descriptor_, 0) != 0 || pwrite(lock.descriptor_, id.data(), id.size(), 0) < 0)
    return fail("{}: cannot write the lock: {}", file.string(), std::strerror(errno));
  return lock;
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace nereus::runtime
