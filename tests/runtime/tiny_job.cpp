#include "tests/runtime/tiny_job.h"

#include <fmt/format.h>

#include <sstream>

namespace nereus::runtime {

std::string tiny_job(const std::string& run, const std::string& more) {
  constexpr const char* kText = R"([run]
folder = "runs"
{}
[model]
path = "tiny"
[data]
task = "addition"
prompts = 2
[[reward]]
kind = "regex"
pattern = "e"
[generation]
completions = 4
max_new_tokens = 6
[lora]
rank = 4
[train]
learning_rate = 1e-2
{}
)";
  return fmt::format(kText, run, more);
}

std::vector<OrderedJson> lines_of(const std::filesystem::path& file) {
  std::vector<OrderedJson> lines;
  std::istringstream text(file_text(file));
  for (std::string line; std::getline(text, line);) lines.push_back(OrderedJson::parse(line));
  return lines;
}

TinyRuns::TinyRuns(const std::string& job) {
  write_tiny_model(scratch_.path() / "tiny");
  scratch_.write("job.toml", job);
}

Result<TrainOutcome> TinyRuns::try_run(const std::string& name, config::Overrides overrides,
                                       OnExisting on_existing) const {
  overrides.emplace_back("run.name", name);
  return train({scratch_.path() / "job.toml", overrides, on_existing});
}

std::filesystem::path TinyRuns::run(const std::string& name, config::Overrides overrides,
                                    OnExisting on_existing) const {
  const auto outcome = try_run(name, std::move(overrides), on_existing);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return folder(name);
}

}  // namespace nereus::runtime
