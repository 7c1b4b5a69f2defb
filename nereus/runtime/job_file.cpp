#include "nereus/runtime/job_file.h"

#include "nereus/config/text_file.h"
#include "nereus/runtime/job_check.h"
#include "nereus/runtime/job_keys.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

void fill_in(Job& job, const std::string& source, const fs::path& folder) {
  const fs::path base = fs::absolute(folder).lexically_normal();
  if (job.run.name.empty()) job.run.name = fs::path(source).stem().string();
  job.run.folder = fs::absolute(job.run.folder).lexically_normal();
  for (auto& reward : job.rewards)
    if (reward.folder.empty()) reward.folder = base;
}

}  // namespace

Result<Job> parse_job(std::string_view text, const std::string& source, const fs::path& folder,
                      const config::Overrides& overrides) {
  const auto schema = job_schema();
  auto document = schema.read(text, source, folder.string());
  if (!document) return pass(document);
  if (auto status = schema.set(*document, overrides); !status) return pass(status);
  Job job = std::move(document->value);
  fill_in(job, source, folder);
  if (auto status = check_job(job); !status) return fail("{}: {}", source, status.error().message);
  return job;
}

Result<Job> read_job(const fs::path& file, const config::Overrides& overrides) {
  auto text = config::read_text_file(file);
  if (!text) return pass(text);
  return parse_job(*text, file.string(), file.parent_path(), overrides);
}

std::string job_text(const Job& job, bool documented) {
  return job_schema().text(job, documented);
}

std::vector<std::string> differences(const Job& now, const Job& before) {
  return job_schema().differences(now, before);
}

}  // namespace nereus::runtime
