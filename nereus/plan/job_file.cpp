#include "nereus/plan/job_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "nereus/config/nearest_name.h"
#include "nereus/config/text_file.h"
#include "nereus/formats/json_file.h"
#include "nereus/plan/known_models.h"
#include "nereus/plan/length_file.h"

namespace nereus::plan {

namespace fs = std::filesystem;

namespace {

constexpr double kMeanResponse = 1024, kVariation = 0.8;

/// Each role with its section.
std::vector<std::pair<Role, const ModelSection*>> sections_of(const JobSections& sections) {
  return {{Role::actor, &sections.actor},
          {Role::critic, &sections.critic},
          {Role::reference, &sections.reference},
          {Role::reward, &sections.reward}};
}

/// Names that are no known model are paths, relative to `folder`.
void resolve_models(JobSections& sections, const fs::path& folder) {
  for (auto* section : {&sections.actor, &sections.critic, &sections.reference, &sections.reward})
    if (!section->model.empty() && !known_model(section->model))
      section->model = fs::absolute(folder / section->model).lexically_normal().string();
}

Result<spec::ModelConfig> config_from_file(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? path / "config.json" : path;
  const auto json = formats::read_json_file(file);
  if (!json) return pass(json);
  return spec::config_from_json(*json, file.string());
}

/// `place` and `key` of the model's name, for errors.
Result<spec::ModelConfig> config_of(const std::string& model, const std::string& place,
                                    const std::string& key) {
  if (const auto known = known_model(model)) return *known;
  std::error_code error;
  if (fs::exists(model, error)) {
    auto config = config_from_file(model);
    if (!config) return fail("{}: {}: {}", place, key, config.error().message);
    return config;
  }
  const auto names = known_model_names();
  const auto nearest = config::nearest_name(fs::path(model).filename().string(), names);
  const std::string hint = nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                                   : fmt::format("known are {}", fmt::join(names, ", "));
  return fail("{}: {}: there is no model of this name and no file {}; {}", place, key, model, hint);
}

Status add_models(Job& job, const config::Document<JobSections>& document) {
  for (const auto& [role, section] : sections_of(document.value)) {
    if (section->model.empty()) continue;
    const std::string key = fmt::format("{}.model", name_of(role));
    auto config = config_of(section->model, document.places.of(key), key);
    if (!config) return pass(config);
    job.models.push_back({role, std::move(*config), section->lora_rank});
  }
  return {};
}

Status add_lengths(Job& job, const config::Document<JobSections>& document) {
  const auto& section = document.value.lengths;
  const auto limit = static_cast<double>(section.max_response);
  const double mean = section.mean_response.value_or(std::min(kMeanResponse, limit / 2));
  if (mean > limit)
    return fail("{}: lengths.mean_response = {} exceeds lengths.max_response = {}",
                document.places.of("lengths.mean_response"), mean, section.max_response);
  if (section.file.empty()) {
    job.lengths =
        lognormal_lengths(section.prompt, mean, section.variation.value_or(kVariation), section.max_response);
    return {};
  }
  if (section.variation)
    return fail("{}: lengths.variation is that of the file's lengths; expected either of the two keys",
                document.places.of("lengths.variation"));
  auto lengths = read_lengths(section.file);
  if (!lengths)
    return fail("{}: lengths.file: {}", document.places.of("lengths.file"), lengths.error().message);
  fit_lengths(*lengths, section.mean_response, section.max_response);
  job.lengths = {section.prompt, std::move(*lengths), section.max_response};
  return {};
}

/// What no single key can check.
Status check(const Job& job, const config::Document<JobSections>& document) {
  const auto& [sections, places] = document;
  if (sections.actor.model.empty())
    return fail("{}: actor.model is missing: expected a model", places.of("actor"));
  const bool ppo = sections.algorithm == Algorithm::ppo;
  if (ppo && sections.critic.model.empty())
    return fail("{}: critic.model is missing: ppo trains a critic", places.of("job.algorithm"));
  if (!ppo && !sections.critic.model.empty())
    return fail("{}: critic.model: grpo has no critic; expected job.algorithm = \"ppo\" or no [critic]",
                places.of("critic.model"));
  if (!ppo && job.completions < 2)
    return fail("{}: job.completions = 1: grpo compares the completions of a prompt, expected at least 2",
                places.of("job.completions"));
  if (job.minibatches > job.samples())
    return fail("{}: job.minibatches = {} is more than the {} completions of a step",
                places.of("job.minibatches"), job.minibatches, job.samples());
  const int64_t longest = job.lengths.prompt + job.lengths.max_response;
  for (const auto& model : job.models)
    if (longest > model.config.context)
      return fail("{}: lengths: a prompt of {} and a response of {} tokens exceed the {}'s context of {}",
                  places.of("lengths"), job.lengths.prompt, job.lengths.max_response, name_of(model.role),
                  model.config.context);
  return {};
}

Result<Job> job_of(const config::Document<JobSections>& document) {
  Job job = document.value.job;
  if (auto status = add_models(job, document); !status) return pass(status);
  if (auto status = add_lengths(job, document); !status) return pass(status);
  if (auto status = check(job, document); !status) return pass(status);
  return job;
}

}  // namespace

Result<Job> parse_job(std::string_view text, const std::string& source, const fs::path& folder,
                      const config::Overrides& overrides) {
  const auto schema = job_schema();
  auto document = schema.read(text, source, folder.string());
  if (!document) return pass(document);
  resolve_models(document->value, folder);
  if (auto status = schema.set(*document, overrides); !status) return pass(status);
  resolve_models(document->value, ".");
  return job_of(*document);
}

Result<Job> read_job(const fs::path& file, const config::Overrides& overrides) {
  const auto text = config::read_text_file(file);
  if (!text) return pass(text);
  return parse_job(*text, file.string(), file.parent_path(), overrides);
}

}  // namespace nereus::plan
