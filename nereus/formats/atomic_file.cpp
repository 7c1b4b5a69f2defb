#include "nereus/formats/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace nereus::formats {
namespace {

// Linux writes at most 2 GiB a call; smaller pieces make no difference to speed.
constexpr size_t kPieceBytes = size_t{1} << 30;
constexpr int kNameAttempts = 1000;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path temporary_name(const std::filesystem::path& path, int attempt) {
  return folder_of(path) / fmt::format(".{}.{}-{}.tmp", path.filename().string(), ::getpid(), attempt);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      written_(other.written_) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::filesystem::path temporary = temporary_name(path, attempt);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0) return AtomicFile(path, std::move(temporary), fd);
    if (errno != EEXIST) break;
  }
  return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

tl::unexpected<Error> AtomicFile::failure(std::string_view action) const {
  const int error = errno;
  return fail("{}: {} failed after {} bytes: {} (what was there before is unchanged)", path_.string(), action,
              written_, std::strerror(error));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure("writing");
    written_ += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status AtomicFile::write(std::string_view text) {
  return write(bytes_of(text));
}

Status AtomicFile::commit() {
  if (::fsync(fd_) != 0) return failure("syncing");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("renaming");
  ::close(std::exchange(fd_, -1));
  return sync_folder(folder_of(path_));
}

Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  auto file = AtomicFile::create(path);
  if (!file) return pass(file);
  if (auto written = file->write(bytes); !written) return written;
  return file->commit();
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  return write_file_atomically(path, bytes_of(text));
}

Status sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some network file systems cannot sync a folder; there a rename is durable by itself.
  if (result != 0 && error != EINVAL)
    return fail("{}: syncing failed: {}", folder.string(), std::strerror(error));
  return {};
}

}  // namespace nereus::formats
