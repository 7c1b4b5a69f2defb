#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nereus/spec/model_config.h"

namespace nereus::plan {

/// The architecture of a published model by its name ("llama-3-8b"), as its config.json has it; nothing where
/// unknown.
std::optional<spec::ModelConfig> known_model(const std::string& name);
std::vector<std::string> known_model_names();

}  // namespace nereus::plan
