#include "nereus/formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace nereus::formats {
namespace {

/// Closes a descriptor at the end of its scope.
struct Descriptor {
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  const int fd;
};

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return fail("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status = {};
  if (::fstat(file.fd, &status) != 0) return fail("{}: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("{}: is not a regular file", path.string());

  std::shared_ptr<MappedFile> mapped(new MappedFile);
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return mapped;
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapping == MAP_FAILED) return fail("{}: cannot be mapped: {}", path.string(), std::strerror(errno));
  mapped->mapping_ = mapping;
  mapped->bytes_ = {static_cast<const std::byte*>(mapping), size};
  return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::from_bytes(std::vector<std::byte> bytes) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->owned_ = std::move(bytes);
  file->bytes_ = file->owned_;
  return file;
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

std::string_view MappedFile::text() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

void forget_pages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t begin = (address + page - 1) / page * page, end = (address + mapped.size()) / page * page;
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace nereus::formats
