#include "nereus/tasks/jsonl_dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace nereus::tasks {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

std::string read_error() {
  return std::generic_category().message(errno);
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

Status check_message(const OrderedJson& message, const std::string& where, size_t index) {
  const std::string place = fmt::format("{}: message {}", where, index + 1);
  if (!message.is_object()) return fail("{}: expected an object with \"role\" and \"content\"", place);
  const auto role = message.find("role");
  if (role == message.end() || !role->is_string()) return fail("{}: expected a text \"role\"", place);
  if (std::ranges::find(kRoles, role->get_ref<const std::string&>()) == kRoles.end())
    return fail("{}: unknown role \"{}\"; expected one of {}", place, role->get_ref<const std::string&>(),
                fmt::join(kRoles, ", "));
  const auto content = message.find("content");
  const bool calls = message.contains("tool_calls");  // such a message may have no text
  if (content == message.end() || content->is_null()) {
    if (calls) return {};
    return fail("{}: expected \"content\", a text", place);
  }
  if (!content->is_string())
    return fail("{}: expected \"content\" to be a text, not {}", place, content->type_name());
  return {};
}

Status check_prompt(const OrderedJson& prompt, std::string_view key, const std::string& where) {
  if (prompt.is_string() && key == "prompt") {
    if (prompt.get_ref<const std::string&>().empty()) return fail("{}: \"prompt\" is empty", where);
    return {};
  }
  if (!prompt.is_array())
    return fail("{}: expected \"{}\" to be {}an array of messages, not {}", where, key,
                key == "prompt" ? "a text or " : "", prompt.type_name());
  if (prompt.empty()) return fail("{}: \"{}\" has no messages", where, key);
  for (size_t i = 0; i < prompt.size(); ++i)
    if (auto status = check_message(prompt[i], where, i); !status) return status;
  return {};
}

Result<Sample> parse_sample(std::string_view line, const std::string& where, uint64_t id) {
  auto value = parse_ordered_json(line, where);
  if (!value) return pass(value);
  if (!value->is_object()) return fail("{}: expected an object, not {}", where, value->type_name());
  const bool text = value->contains("prompt"), messages = value->contains("messages");
  if (text == messages)
    return fail("{}: expected {} \"prompt\" or \"messages\"", where, text ? "only one of" : "a column");
  const std::string key = text ? "prompt" : "messages";
  if (auto status = check_prompt((*value)[key], key, where); !status) return pass(status);
  Sample sample{.id = id, .source = where, .prompt = std::move((*value)[key]), .columns = std::move(*value)};
  sample.columns.erase(key);
  return sample;
}

struct Place {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t line = 0;
};

class JsonlDataset final : public Dataset {
 public:
  JsonlDataset(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  ~JsonlDataset() override { ::close(file_); }
  JsonlDataset(const JsonlDataset&) = delete;
  JsonlDataset& operator=(const JsonlDataset&) = delete;

  /// Checks every line and notes where it is.
  Status index() {
    std::ifstream in(path_, std::ios::binary);
    int64_t offset = 0, number = 0;
    for (std::string line; std::getline(in, line); offset += static_cast<int64_t>(line.size()) + 1) {
      const size_t skip = ++number == 1 && line.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
      const std::string_view text = std::string_view(line).substr(skip);
      if (blank(text)) continue;
      const auto sample = parse_sample(text, where(number), places_.size());
      if (!sample) return pass(sample);
      places_.push_back({offset + static_cast<int64_t>(skip), static_cast<int64_t>(text.size()), number});
    }
    if (in.bad()) return fail("{}: cannot be read", path_.string());
    if (places_.empty()) return fail("{}: has no samples; expected one JSON object a line", path_.string());
    return {};
  }

  uint64_t size() const override { return places_.size(); }

  Result<Sample> at(uint64_t index) const override {
    const Place& place = places_.at(index);
    std::string line(static_cast<size_t>(place.bytes), '\0');
    for (size_t done = 0; done < line.size();) {
      const ssize_t got =
          ::pread(file_, line.data() + done, line.size() - done, place.offset + static_cast<int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail("{}: cannot be read: {}", where(place.line), read_error());
      if (got == 0) return fail("{}: the file became shorter since it was opened", where(place.line));
      done += static_cast<size_t>(got);
    }
    return parse_sample(line, where(place.line), index);
  }

  std::string description() const override {
    return fmt::format("{} ({} prompts)", path_.string(), places_.size());
  }

 private:
  std::string where(int64_t line) const { return fmt::format("{}:{}", path_.string(), line); }

  std::filesystem::path path_;
  int file_;
  std::vector<Place> places_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_jsonl_dataset(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail("{}: is a folder; expected a JSON Lines file", path.string());
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail("{}: cannot be opened: {}", path.string(), read_error());
  auto dataset = std::make_unique<JsonlDataset>(path, file);
  if (auto status = dataset->index(); !status) return pass(status);
  return dataset;
}

}  // namespace nereus::tasks
