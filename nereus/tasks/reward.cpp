#include "nereus/tasks/reward.h"

namespace nereus::tasks {

Result<std::string> column_text(const std::string& reward, const Sample& sample, const std::string& column) {
  const auto found = sample.columns.find(column);
  if (found == sample.columns.end()) {
    std::string known;
    for (const auto& [name, value] : sample.columns.items()) known += (known.empty() ? "" : ", ") + name;
    return fail("reward \"{}\": {} has no column \"{}\"; its columns are: {}", reward, sample.source, column,
                known.empty() ? "none" : known);
  }
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number()) return found->dump();
  return fail("reward \"{}\": {}: expected column \"{}\" to be a text or a number, not {}", reward,
              sample.source, column, found->type_name());
}

}  // namespace nereus::tasks
