#include "nereus/plan/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nereus::plan {
namespace {

/// Inverse of the normal distribution by bisection of erfc: exact to double precision, needed a few hundred
/// times a job.
double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::actor:
      return "actor";
    case Role::critic:
      return "critic";
    case Role::reference:
      return "reference";
    case Role::reward:
      return "reward";
  }
  return "";
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::generate:
      return "generate";
    case Stage::infer:
      return "infer";
    case Stage::train:
      return "train";
  }
  return "";
}

std::string to_string(ModelStage what) {
  return fmt::format("{} {}", name_of(what.role), name_of(what.stage));
}

double Lengths::mean_response() const {
  if (responses.empty()) return static_cast<double>(max_response);
  const int64_t sum = std::accumulate(responses.begin(), responses.end(), int64_t{0});
  return static_cast<double>(sum) / static_cast<double>(responses.size());
}

int32_t Lengths::at(double quantile) const {
  const double index = std::floor(quantile * static_cast<double>(responses.size()));
  return responses[static_cast<size_t>(std::clamp(index, 0.0, static_cast<double>(responses.size() - 1)))];
}

Lengths lognormal_lengths(int64_t prompt, double mean, double variation, int64_t max, int32_t count) {
  const double sigma = std::sqrt(std::log1p(variation * variation));
  const double mu = std::log(mean) - sigma * sigma / 2;
  Lengths lengths{.prompt = prompt, .responses = {}, .max_response = max};
  for (int32_t i = 0; i < count; ++i) {
    const double length = std::exp(mu + sigma * normal_quantile((i + 0.5) / count));
    lengths.responses.push_back(
        static_cast<int32_t>(std::clamp(std::round(length), 1.0, static_cast<double>(max))));
  }
  return lengths;
}

const Model* Job::find(Role role) const {
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const Model& m) { return m.role == role; });
  return found == models.end() ? nullptr : &*found;
}

std::vector<ModelStage> model_stages(const Job& job) {
  std::vector<ModelStage> stages;
  for (const ModelStage what :
       {ModelStage{Role::actor, Stage::generate}, ModelStage{Role::actor, Stage::infer},
        ModelStage{Role::reference, Stage::infer}, ModelStage{Role::reward, Stage::infer},
        ModelStage{Role::critic, Stage::infer}, ModelStage{Role::actor, Stage::train},
        ModelStage{Role::critic, Stage::train}}) {
    if (job.find(what.role) != nullptr) stages.push_back(what);
  }
  return stages;
}

}  // namespace nereus::plan
