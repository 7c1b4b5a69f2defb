#pragma once

#include <string>

namespace nereus::runtime {

/// docs/configuration.md: every key with its default, what it takes and what it means.
std::string reference_page();

}  // namespace nereus::runtime
