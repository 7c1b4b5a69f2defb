#include "nereus/rollout/generator.h"

#include <unordered_map>

namespace nereus::rollout {

Result<std::vector<Group>> generate_all(Generator& generator, std::vector<Request> requests,
                                        const TokenCallback& on_token) {
  std::unordered_map<uint64_t, size_t> place;
  std::vector<Group> groups(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!place.emplace(requests[i].prompt_id, i).second)
      return fail("prompt {} was submitted twice in one call", requests[i].prompt_id);
    if (auto status = generator.submit(std::move(requests[i]), on_token); !status) return pass(status);
  }
  while (!generator.idle()) {
    auto finished = generator.step();
    if (!finished) return pass(finished);
    for (Group& group : *finished) groups[place.at(group.prompt_id)] = std::move(group);
  }
  return groups;
}

}  // namespace nereus::rollout
