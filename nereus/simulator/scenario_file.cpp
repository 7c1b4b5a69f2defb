#include "nereus/simulator/scenario_file.h"

#include <algorithm>
#include <cmath>

#include "nereus/cluster/cluster_file.h"
#include "nereus/config/text_file.h"
#include "nereus/plan/job_file.h"
#include "nereus/simulator/policies.h"

namespace nereus::simulator {

namespace {

const std::vector<std::string>& cluster_sections() {
  static const std::vector<std::string> kSections{"network", "machine"};
  return kSections;
}

const std::vector<std::string>& job_sections() {
  static const std::vector<std::string> kSections{"job", "actor", "critic", "reference", "reward", "lengths"};
  return kSections;
}

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

/// "machine" of "[[machine]]" and of "[machine.0]"; empty where the line begins no section.
std::string_view section_of(std::string_view line) {
  const size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos || line[start] != '[') return {};
  const size_t begin = line.find_first_not_of("[ \t\"", start);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, std::min(line.find_first_of(" \t\".]", begin), line.size()) - begin);
}

config::Overrides overrides_of(const config::Overrides& overrides, const std::vector<std::string>& sections,
                               bool others) {
  config::Overrides own;
  for (const auto& entry : overrides)
    if (contains(sections, entry.first.substr(0, entry.first.find('.'))) != others) own.push_back(entry);
  return own;
}

Status check_cluster(const cluster::Cluster& cluster, const std::string& source) {
  if (cluster.machines.empty()) return fail("{}: expected a [[machine]]", source);
  const auto& first = cluster.machines.front();
  for (const auto& machine : cluster.machines)
    if (machine.kind != first.kind || machine.devices != first.devices ||
        machine.network_bandwidth != first.network_bandwidth)
      return fail(
          "{}: machine {}: expected machines of one kind, as {} is: a trace does not say which of several "
          "are there",
          source, machine.name, first.name);
  return {};
}

/// Number of machines over time.
Result<std::vector<Reading>> availability_of(const ScenarioSections& sections, const config::Places& places) {
  const auto& cluster = sections.scenario.cluster;
  const auto most = static_cast<int32_t>(cluster.machines.size());
  if (!sections.availability_file.empty()) {
    auto readings = read_availability(sections.availability_file);
    if (!readings)
      return fail("{}: availability.file: {}", places.of("availability.file"), readings.error().message);
    const bool devices = sections.availability_unit == "device";
    return whole_machines(*readings, devices ? cluster.machines.front().devices : 1, most);
  }
  if (sections.availability_low == 0) return std::vector<Reading>{{0, most}};
  if (sections.availability_low > most)
    return fail("{}: availability.low: expected at most the {} machines", places.of("availability.low"),
                most);
  if (sections.availability_mean_hours <= 0)
    return fail("{}: availability.mean_hours: expected more than 0 where availability.low is given",
                places.of("availability.low"));
  return generate_availability({sections.availability_low, most, sections.availability_mean_hours * 3600,
                                sections.scenario.hours * 3600},
                               static_cast<uint64_t>(sections.availability_seed));
}

Result<std::vector<LengthStep>> lengths_of(const ScenarioSections& sections, const config::Places& places) {
  if (!sections.growth_file.empty()) {
    auto lengths = read_lengths(sections.growth_file, sections.growth_scale);
    if (!lengths) return fail("{}: growth.file: {}", places.of("growth.file"), lengths.error().message);
    return lengths;
  }
  GeneratedLengths growth = sections.growth;
  const auto& lengths = sections.scenario.job.lengths;
  if (growth.first <= 0) growth.first = lengths.mean_response();
  if (growth.last <= 0) growth.last = growth.first;
  growth.prompt = static_cast<double>(lengths.prompt);
  return generate_lengths(growth, sections.scenario.steps);
}

/// Standard deviation over mean of the job's own lengths.
double variation_of(const plan::Lengths& lengths) {
  const double mean = lengths.mean_response();
  double squares = 0;
  for (const int32_t response : lengths.responses) squares += (response - mean) * (response - mean);
  const double variance = squares / static_cast<double>(std::max<size_t>(lengths.responses.size(), 1));
  return std::max(0.05, std::sqrt(variance) / mean);
}

}  // namespace

std::string only_sections(std::string_view text, const std::vector<std::string>& sections, bool others) {
  std::string out;
  bool keep = others;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const auto section = section_of(line); !section.empty()) keep = contains(sections, section) != others;
    if (keep) out += line;
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<Scenario> parse_scenario(std::string_view text, const std::string& source,
                                const std::filesystem::path& folder, const config::Overrides& overrides) {
  auto foreign = cluster_sections();
  foreign.insert(foreign.end(), job_sections().begin(), job_sections().end());
  const auto schema = scenario_schema();
  auto document = schema.read(only_sections(text, foreign, true), source, folder.string());
  if (!document) return pass(document);
  if (auto status = schema.set(*document, overrides_of(overrides, foreign, true)); !status)
    return pass(status);
  Scenario& scenario = document->value.scenario;

  auto cluster = cluster::parse_cluster(only_sections(text, cluster_sections(), false), source,
                                        overrides_of(overrides, cluster_sections(), false));
  if (!cluster) return pass(cluster);
  if (auto status = check_cluster(*cluster, source); !status) return pass(status);
  scenario.cluster = std::move(*cluster);

  auto job = plan::parse_job(only_sections(text, job_sections(), false), source, folder,
                             overrides_of(overrides, job_sections(), false));
  if (!job) return pass(job);
  scenario.job = std::move(*job);

  auto availability = availability_of(document->value, document->places);
  if (!availability) return pass(availability);
  scenario.availability = std::move(*availability);
  scenario.length_variation = variation_of(scenario.job.lengths);
  auto lengths = lengths_of(document->value, document->places);
  if (!lengths) return pass(lengths);
  scenario.lengths = std::move(*lengths);

  for (const auto& policy : scenario.policies)
    if (auto status = check_policy(policy); !status)
      return fail("{}: simulation.policies: {}", document->places.of("simulation.policies"),
                  status.error().message);
  return scenario;
}

Result<Scenario> read_scenario(const std::filesystem::path& file, const config::Overrides& overrides) {
  const auto text = config::read_text_file(file);
  if (!text) return pass(text);
  auto scenario = parse_scenario(*text, file.string(), file.parent_path(), overrides);
  if (scenario) scenario->name = file.stem().string();
  return scenario;
}

}  // namespace nereus::simulator
