#include "nereus/runtime/train_state.h"

#include "nereus/formats/json_file.h"

namespace nereus::runtime {

namespace {

constexpr const char* kFile = "state.json";

Status read_count(const Json& json, const std::string& source, const char* key, int64_t& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer() || found->get<int64_t>() < 0)
    return fail("{}: {}: expected an integer of at least 0", source, key);
  value = found->get<int64_t>();
  return {};
}

}  // namespace

Status write_train_state(const std::filesystem::path& folder, const TrainState& state) {
  return formats::write_json_file(folder / kFile, {{"step", state.step},
                                                   {"cursor", state.cursor},
                                                   {"skipped_prompts", state.skipped_prompts},
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
  for (auto [key, value] :
       {std::pair{"step", &state.step}, std::pair{"cursor", &cursor},
        std::pair{"skipped_prompts", &state.skipped_prompts}, std::pair{"num_tokens", &state.num_tokens}})
    if (auto status = read_count(*json, file.string(), key, *value); !status) return pass(status);
  state.cursor = static_cast<uint64_t>(cursor);
  const auto fingerprint = json->find("model_fingerprint");
  if (fingerprint == json->end() || !fingerprint->is_string())
    return fail("{}: model_fingerprint: expected a string", file.string());
  state.model_fingerprint = fingerprint->get<std::string>();
  return state;
}

}  // namespace nereus::runtime
