#include "nereus/runtime/reference_page.h"

#include "nereus/runtime/job_keys.h"

namespace nereus::runtime {

namespace {

constexpr const char* kIntroduction = R"(# Configuration

A job file is TOML; `nereus train JOB.toml` reads it. A key is set on the command line by its full name,
`--train.learning_rate 1e-5`; keys of the first `[[reward]]` are `--reward.0.weight 2`, lists are `a,b,c`.
Unknown keys, values of the wrong type and values out of range are errors that name the line.

Relative paths in a file are relative to that file, paths on the command line to the working directory.
`nereus train JOB.toml --print-config` prints everything that the job decides, defaults too, as a job file;
the same text is written to `job.toml` in the run's folder.

This page is made by `nereus train --print-reference`.
)";

/// Text for a cell of a table.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

template <class T>
void describe(std::string& out, const KeyTable<T>& table, const T& defaults, const std::string& header_form) {
  std::string section;
  for (const auto& key : table.keys()) {
    const size_t dot = key.name.find('.');
    const std::string in = key.name.substr(0, dot);
    if (in != section) {
      out += fmt::format("\n## {}\n\n", fmt::format(fmt::runtime(header_form), in));
      out += "| key | default | takes | meaning |\n| --- | --- | --- | --- |\n";
    }
    section = in;
    const auto value = key.get(defaults);
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.name.substr(dot + 1),
                       value ? fmt::format("`{}`", to_toml(*value)) : "unset", escaped(key.expected),
                       escaped(key.doc));
  }
}

}  // namespace

std::string reference_page() {
  std::string out = kIntroduction;
  describe(out, job_keys(), Job{}, "`[{}]`");
  describe(out, reward_keys(), RewardSection{}, "`[[{}]]`, one or more");
  return out;
}

}  // namespace nereus::runtime
