#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/config/overrides.h"
#include "nereus/config/schema.h"
#include "nereus/simulator/scenario.h"

namespace nereus::simulator {

/// The sections of a scenario's file that are the simulator's own; those of the cluster ([network],
/// [[machine]]) and of the job ([job], [actor], [critic], [reference], [reward], [lengths]) are read as the
/// planner's files are.
struct ScenarioSections {
  Scenario scenario;  ///< [simulation] and [world]
  std::filesystem::path availability_file;
  std::string availability_unit = "device";
  int32_t availability_low = 0;  ///< generated: machines, 0: all of them
  double availability_mean_hours = 0;
  int64_t availability_seed = 1;
  std::filesystem::path growth_file;
  double growth_scale = 1;
  GeneratedLengths growth{0, 0, 0.5, 0.1, 0};  ///< first, last, prompt 0: those of [lengths]
};
config::Schema<ScenarioSections> scenario_schema();
/// Tables of all keys in Markdown, for docs/simulator.md.
std::string scenario_reference();

/// Reads a scenario. Relative paths in it are relative to its folder; `overrides` ("world.noise", "0.1") are
/// set after it. Error: FILE:LINE (or --key) with the key and what was expected; a trace that is missing is
/// named with the key that names it.
Result<Scenario> read_scenario(const std::filesystem::path& file, const config::Overrides& overrides = {});
/// The same from text; `source` names it in errors, `folder` is that of relative paths.
Result<Scenario> parse_scenario(std::string_view text, const std::string& source,
                                const std::filesystem::path& folder, const config::Overrides& overrides = {});

/// The text with the lines of sections left out that are not in `sections` (or, with `others`, that are), so
/// that the others keep their line numbers.
std::string only_sections(std::string_view text, const std::vector<std::string>& sections, bool others);

}  // namespace nereus::simulator
