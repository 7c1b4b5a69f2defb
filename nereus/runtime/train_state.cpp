#include "nereus/runtime/train_state.h"

#include <algorithm>
#include <sstream>

#include "nereus/config/text_file.h"
#include "nereus/formats/atomic_file.h"
#include "nereus/formats/json_file.h"

namespace nereus::runtime {

namespace {

constexpr const char* kFile = "state.json";
constexpr const char* kQueue = "queue.jsonl";

Status read_count(const Json& json, const std::string& source, const char* key, int64_t& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer() || found->get<int64_t>() < 0)
    return fail("{}: {}: expected an integer of at least 0", source, key);
  value = found->get<int64_t>();
  return {};
}

Status read_unfinished(const Json& json, const std::string& source, std::vector<uint64_t>& prompts) {
  const auto found = json.find("unfinished_prompts");
  const auto is_id = [](const Json& id) { return id.is_number_unsigned(); };
  if (found == json.end() || !found->is_array() || !std::all_of(found->begin(), found->end(), is_id))
    return fail("{}: unfinished_prompts: expected a list of integers of at least 0", source);
  prompts = found->get<std::vector<uint64_t>>();
  return {};
}

Status read_queue(const std::filesystem::path& file, std::vector<Json>& groups) {
  auto text = config::read_text_file(file);
  if (!text) return pass(text);
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    auto json = parse_json(line, fmt::format("{}:{}", file.string(), number));
    if (!json) return pass(json);
    groups.push_back(std::move(*json));
  }
  return {};
}

}  // namespace

Status write_train_state(const std::filesystem::path& folder, const TrainState& state) {
  std::string lines;
  for (const Json& group : state.rollouts.queued) lines += group.dump() + "\n";
  if (auto status = formats::write_file_atomically(folder / kQueue, lines); !status) return status;
  return formats::write_json_file(folder / kFile, {{"step", state.step},
                                                   {"cursor", state.rollouts.cursor},
                                                   {"skipped_prompts", state.rollouts.skipped_prompts},
                                                   {"unfinished_prompts", state.rollouts.unfinished},
                                                   {"num_tokens", state.num_tokens},
                                                   {"model_fingerprint", state.model_fingerprint}});
}

Result<TrainState> read_train_state(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kFile;
  auto json = formats::read_json_file(file);
  if (!json) return pass(json);
  if (!json->is_object()) return fail("{}: expected an object", file.string());
  TrainState state;
  int64_t cursor = 0;
  for (auto [key, value] : {std::pair{"step", &state.step}, std::pair{"cursor", &cursor},
                            std::pair{"skipped_prompts", &state.rollouts.skipped_prompts},
                            std::pair{"num_tokens", &state.num_tokens}})
    if (auto status = read_count(*json, file.string(), key, *value); !status) return pass(status);
  state.rollouts.cursor = static_cast<uint64_t>(cursor);
  if (auto status = read_unfinished(*json, file.string(), state.rollouts.unfinished); !status)
    return pass(status);
  if (auto status = read_queue(folder / kQueue, state.rollouts.queued); !status) return pass(status);
  const auto fingerprint = json->find("model_fingerprint");
  if (fingerprint == json->end() || !fingerprint->is_string())
    return fail("{}: model_fingerprint: expected a string", file.string());
  state.model_fingerprint = fingerprint->get<std::string>();
  return state;
}

}  // namespace nereus::runtime
