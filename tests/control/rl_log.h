#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace nereus::test {

/// One line a step, `step:N - name:value - ...`; lines of steps that generated nothing are left out.
inline std::vector<std::map<std::string, double>> read_rl_log(const std::filesystem::path& path) {
  std::vector<std::map<std::string, double>> steps;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::map<std::string, double> step;
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find(" - ", at), line.size());
      const std::string entry = line.substr(at, end - at);
      const size_t colon = entry.rfind(':');
      if (colon != std::string::npos) step[entry.substr(0, colon)] = std::stod(entry.substr(colon + 1));
      at = end + 3;
    }
    if (step.contains("timing_s/gen")) steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace nereus::test
