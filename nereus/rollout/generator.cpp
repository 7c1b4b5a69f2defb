#include "nereus/rollout/generator.h"

#include <unordered_map>
#include <utility>

namespace nereus::rollout {
namespace {

/// A request that waits for its group.
struct Waiting {
  size_t place = 0;  // among the requests
  uint32_t count = 0;
};
using WaitingPrompts = std::unordered_map<uint64_t, Waiting>;

/// Ends what was submitted and not finished, so that the generator can be used again.
void abandon(Generator& generator, const WaitingPrompts& waiting) {
  for (const auto& [prompt_id, request] : waiting) generator.cancel(prompt_id);
  while (!generator.idle() && generator.step()) {
  }
}

Status submit_all(Generator& generator, std::vector<Request> requests, const TokenCallback& on_token,
                  WaitingPrompts& waiting) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const uint64_t prompt_id = requests[i].prompt_id;
    if (waiting.contains(prompt_id)) return fail("prompt {} was submitted twice in one call", prompt_id);
    const Waiting request{i, requests[i].count};
    if (auto status = generator.submit(std::move(requests[i]), on_token); !status) return status;
    waiting.emplace(prompt_id, request);
  }
  return {};
}

Status take(Group group, WaitingPrompts& waiting, std::vector<Group>& groups) {
  const auto request = waiting.find(group.prompt_id);
  if (request == waiting.end())
    return fail("the generator finished prompt {}, which nobody waits for", group.prompt_id);
  if (group.completions.size() != request->second.count)
    return fail("the generator made {} completions of prompt {}; {} were asked for", group.completions.size(),
                group.prompt_id, request->second.count);
  groups[request->second.place] = std::move(group);
  waiting.erase(request);
  return {};
}

Status collect(Generator& generator, WaitingPrompts& waiting, std::vector<Group>& groups) {
  while (!waiting.empty()) {
    if (generator.idle())
      return fail("the generator stopped, but {} prompts have no completions", waiting.size());
    auto finished = generator.step();
    if (!finished) return pass(finished);
    for (Group& group : *finished)
      if (auto status = take(std::move(group), waiting, groups); !status) return status;
  }
  return {};
}

}  // namespace

Result<std::vector<Group>> generate_all(Generator& generator, std::vector<Request> requests,
                                        const TokenCallback& on_token) {
  std::vector<Group> groups(requests.size());
  WaitingPrompts waiting;
  auto status = submit_all(generator, std::move(requests), on_token, waiting);
  if (status) status = collect(generator, waiting, groups);
  if (status) return groups;
  abandon(generator, waiting);
  return pass(status);
}

}  // namespace nereus::rollout
