#include "nereus/runtime/group_json.h"

#include <array>

namespace nereus::runtime {

namespace {

constexpr std::array kFinish{"stop", "length", "cancelled"};

template <class T>
Status read(const Json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found == json.end()) return fail("queued group: {} is missing", key);
  try {
    found->get_to(value);
  } catch (const Json::exception& error) {
    return fail("queued group: {}: {}", key, error.what());
  }
  return {};
}

Result<rollout::Completion> completion_from_json(const Json& json) {
  rollout::Completion completion;
  std::string finish;
  for (const auto& status : {read(json, "index", completion.index), read(json, "tokens", completion.tokens),
                             read(json, "logprobs", completion.logprobs),
                             read(json, "versions", completion.versions), read(json, "finish", finish)})
    if (!status) return pass(status);
  if (completion.logprobs.size() != completion.tokens.size() ||
      completion.versions.size() != completion.tokens.size())
    return fail("queued group: logprobs and versions: expected {} values, one a token",
                completion.tokens.size());
  for (size_t i = 0; i < kFinish.size(); ++i)
    if (finish == kFinish[i]) {
      completion.finish = static_cast<rollout::Finish>(i);
      return completion;
    }
  return fail("queued group: finish: expected stop, length or cancelled, found \"{}\"", finish);
}

}  // namespace

Json group_json(const rollout::Group& group) {
  Json completions = Json::array();
  for (const auto& completion : group.completions)
    completions.push_back({{"index", completion.index},
                           {"tokens", completion.tokens},
                           {"logprobs", completion.logprobs},
                           {"versions", completion.versions},
                           {"finish", kFinish[static_cast<size_t>(completion.finish)]}});
  return {{"prompt_id", group.prompt_id}, {"completions", std::move(completions)}};
}

Result<rollout::Group> group_from_json(const Json& json) {
  if (!json.is_object()) return fail("queued group: expected an object");
  rollout::Group group;
  if (auto status = read(json, "prompt_id", group.prompt_id); !status) return pass(status);
  const auto completions = json.find("completions");
  if (completions == json.end() || !completions->is_array())
    return fail("queued group: completions: expected a list");
  for (const Json& item : *completions) {
    if (!item.is_object()) return fail("queued group: completions: expected objects");
    auto completion = completion_from_json(item);
    if (!completion) return pass(completion);
    group.completions.push_back(std::move(*completion));
  }
  return group;
}

}  // namespace nereus::runtime
