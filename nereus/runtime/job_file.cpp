#include "nereus/runtime/job_file.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "nereus/runtime/job_check.h"
#include "nereus/runtime/job_keys.h"
#include "nereus/runtime/text_file.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

/// Edits (insert, delete, replace) that lead from one word to the other (Levenshtein 1966).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string last_part(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

/// Puts entries into a job, and knows the tables of keys.
class Reader {
 public:
  explicit Reader(fs::path folder) : folder_(std::move(folder)) {}

  Status apply(Job& job, const ConfigEntry& entry) {
    size_t index = 0;
    std::string name = entry.key;
    if (!split_reward(entry.key, index, name)) return set(keys_, job, name, entry);
    if (index > job.rewards.size())
      return fail("{}: {}: there are {} rewards, counted from 0", entry.place, entry.key, job.rewards.size());
    if (index == job.rewards.size()) job.rewards.emplace_back();
    return set(reward_keys_, job.rewards[index], name, entry);
  }

  Status apply_text(Job& job, const std::string& name, const std::string& text) {
    size_t index = 0;
    std::string plain = name;
    const bool reward = split_reward(name, index, plain);
    const auto* reward_key = reward ? reward_keys_.find(plain) : nullptr;
    const auto* key = keys_.find(plain);
    const KeyKind kind = reward_key ? reward_key->kind : key ? key->kind : KeyKind::text;
    return apply(job, {name, value_from_text(text, kind), fmt::format("--{}", name)});
  }

 private:
  /// "reward.1.weight" to (1, "reward.weight"); false for other keys.
  static bool split_reward(const std::string& key, size_t& index, std::string& name) {
    constexpr std::string_view kPrefix = "reward.";
    if (!key.starts_with(kPrefix)) return false;
    const char* end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data() + kPrefix.size(), end, index);
    if (error != std::errc() || stop == end || *stop != '.') return false;
    name = std::string(kPrefix) + std::string(stop + 1, end);
    return true;
  }

  template <class T>
  Status set(const KeyTable<T>& table, T& object, const std::string& name, const ConfigEntry& entry) {
    const Key<T>* key = table.find(name);
    if (key == nullptr) return unknown(entry, name);
    const auto status = key->set(object, key->kind == KeyKind::path ? resolved(entry.value) : entry.value);
    if (!status) return fail("{}: {}: {}", entry.place, entry.key, status.error().message);
    return {};
  }

  /// A path as an absolute one; empty stays empty.
  ConfigValue resolved(const ConfigValue& value) const {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) return value;
    return fs::absolute(folder_ / *text).lexically_normal().string();
  }

  /// `plain` is the key without the number of its [[reward]].
  Status unknown(const ConfigEntry& entry, const std::string& plain) const {
    std::string nearest;
    size_t best = std::string::npos;
    const auto consider = [&](const std::string& name) {
      const bool same_last = last_part(name) == last_part(plain);
      const size_t d = same_last ? 1 : distance(name, plain);
      if (d < best) best = d, nearest = name;
    };
    for (const auto& key : keys_.keys()) consider(key.name);
    for (const auto& key : reward_keys_.keys()) consider(key.name);
    const bool close = best <= std::max<size_t>(2, last_part(plain).size() / 2);
    if (close) return fail("{}: unknown key {}; did you mean {}?", entry.place, entry.key, nearest);
    return fail("{}: unknown key {}; docs/configuration.md lists all keys", entry.place, entry.key);
  }

  fs::path folder_;
  KeyTable<Job> keys_ = job_keys();
  KeyTable<RewardSection> reward_keys_ = reward_keys();
};

template <class T>
void print_keys(std::string& out, const KeyTable<T>& table, const T& object, const std::string& header_form,
                bool documented) {
  std::string section;
  for (const auto& key : table.keys()) {
    const std::string in = key.name.substr(0, key.name.find('.'));
    if (in != section)
      out += fmt::format("{}{}\n", out.empty() ? "" : "\n", fmt::format(fmt::runtime(header_form), in));
    section = in;
    const auto value = key.get(object);
    const std::string name = last_part(key.name);
    if (documented) out += fmt::format("# {} ({})\n", key.doc, key.expected);
    if (value)
      out += fmt::format("{} = {}\n", name, to_toml(*value));
    else if (documented)
      out += fmt::format("# {} =\n", name);
  }
}

template <class T>
void compare(std::vector<std::string>& out, const KeyTable<T>& table, const T& now, const T& before,
             const std::string& prefix) {
  const auto text = [](const std::optional<ConfigValue>& value) { return value ? to_toml(*value) : "unset"; };
  for (const auto& key : table.keys())
    if (const auto a = key.get(now), b = key.get(before); a != b)
      out.push_back(fmt::format("{}{}: {}, was {}", prefix, key.name, text(a), text(b)));
}

void fill_in(Job& job, const std::string& source, const fs::path& folder) {
  const fs::path base = fs::absolute(folder).lexically_normal();
  if (job.run.name.empty()) job.run.name = fs::path(source).stem().string();
  job.run.folder = fs::absolute(job.run.folder).lexically_normal();
  for (auto& reward : job.rewards)
    if (reward.folder.empty()) reward.folder = base;
}

}  // namespace

Result<Job> parse_job(std::string_view text, const std::string& source, const fs::path& folder,
                      const Overrides& overrides) {
  auto entries = parse_toml(text, source);
  if (!entries) return pass(entries);
  Job job;
  Reader from_file(folder), from_line(".");
  for (const auto& entry : *entries)
    if (auto status = from_file.apply(job, entry); !status) return pass(status);
  for (const auto& [key, value] : overrides)
    if (auto status = from_line.apply_text(job, key, value); !status) return pass(status);
  fill_in(job, source, folder);
  if (auto status = check_job(job); !status) return fail("{}: {}", source, status.error().message);
  return job;
}

Result<Job> read_job(const fs::path& file, const Overrides& overrides) {
  auto text = read_text(file);
  if (!text) return pass(text);
  return parse_job(*text, file.string(), file.parent_path(), overrides);
}

std::string job_text(const Job& job, bool documented) {
  std::string out;
  print_keys(out, job_keys(), job, "[{}]", documented);
  for (const auto& reward : job.rewards) print_keys(out, reward_keys(), reward, "[[{}]]", documented);
  return out;
}

std::vector<std::string> differences(const Job& now, const Job& before) {
  std::vector<std::string> out;
  compare(out, job_keys(), now, before, "");
  if (now.rewards.size() != before.rewards.size())
    out.push_back(fmt::format("reward: {} of them, were {}", now.rewards.size(), before.rewards.size()));
  const auto table = reward_keys();
  for (size_t i = 0; i < std::min(now.rewards.size(), before.rewards.size()); ++i)
    compare(out, table, now.rewards[i], before.rewards[i], fmt::format("[[reward]] {}: ", i));
  return out;
}

}  // namespace nereus::runtime
