#include "nereus/metrics/jsonl.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

namespace nereus::metrics {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

struct Kept {
  int64_t bytes = 0;
  bool ends_in_newline = true;
};

/// How much of the file belongs to the steps up to `last_step`.
Result<Kept> kept_part(const std::filesystem::path& path, int64_t last_step) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail("{}: cannot be read: {}", path.string(), reason(errno));
  Kept kept;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    const bool torn = in.eof();  // no newline
    const auto record = parse_json(line, fmt::format("{}:{}", path.string(), number));
    const bool good =
        record && record->is_object() && record->contains("step") && (*record)["step"].is_number_integer();
    if (!good && torn) return kept;
    if (!record) return pass(record);
    if (!good) return fail("{}:{}: expected an object with an integer \"step\"", path.string(), number);
    if ((*record)["step"].get<int64_t>() > last_step) return kept;
    kept.bytes += static_cast<int64_t>(line.size()) + (torn ? 0 : 1);
    kept.ends_in_newline = !torn;
  }
  return kept;
}

/// Writes all of `text`; 0 or the error's number.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

Result<JsonlWriter> JsonlWriter::create(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return fail("{}: cannot be made: {}", path.string(), reason(errno));
  return JsonlWriter(path, file, 0);
}

Result<JsonlWriter> JsonlWriter::resume(const std::filesystem::path& path, int64_t last_step) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return create(path);
  if (!std::filesystem::is_regular_file(path, ignored)) return fail("{}: is no regular file", path.string());
  const auto kept = kept_part(path, last_step);
  if (!kept) return pass(kept);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return fail("{}: cannot be opened for writing: {}", path.string(), reason(errno));
  JsonlWriter writer(path, file, kept->bytes);
  if (::ftruncate(file, kept->bytes) != 0)
    return fail("{}: cannot be shortened: {}", path.string(), reason(errno));
  if (!kept->ends_in_newline) {
    if (const int error = write_all(file, "\n"))
      return fail("{}: cannot be written: {}", path.string(), reason(error));
    ++writer.size_;
  }
  return writer;
}

JsonlWriter::JsonlWriter(JsonlWriter&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

JsonlWriter& JsonlWriter::operator=(JsonlWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}

JsonlWriter::~JsonlWriter() {
  if (file_ >= 0) ::close(file_);
}

Status JsonlWriter::write(const OrderedJson& record) {
  const std::string line = record.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  if (const int error = write_all(file_, line)) return undo_partial_line(error);
  size_ += static_cast<int64_t>(line.size());
  return {};
}

Status JsonlWriter::undo_partial_line(int error) {
  const bool restored = ::ftruncate(file_, size_) == 0;  // needs no space
  return fail("{}: a record could not be written: {}{}", path_.string(), reason(error),
              restored ? "" : "; the last line of the file is torn");
}

Status JsonlWriter::sync() {
  if (::fsync(file_) == 0) return {};
  return fail("{}: could not be brought to disk: {}", path_.string(), reason(errno));
}

}  // namespace nereus::metrics
