#include <algorithm>
#include <cmath>

#include "nereus/simulator/stage_setup.h"

namespace nereus::simulator {

namespace {

/// One replica's iterations: through its pipeline stages one after another, with the batch cut into as many
/// parts, so that all stages are busy.
class Replica {
 public:
  Replica(const StageSetup& setup, const std::vector<double>& slow, int32_t index, double prompt)
      : setup_(setup), slow_(slow), first_(index * setup.stages()), prompt_(prompt) {}

  double iteration(double batch, double context) const {
    const auto& world = setup_.world();
    const double parts = std::min<double>(setup_.stages(), batch);
    double slowest = 0, sum = 0;
    for (int32_t p = 0; p < setup_.stages(); ++p) {
      const int32_t group = first_ + p;
      const double kernels =
          setup_.kernel(group).decode(setup_.layers(p), setup_.last(p), batch / parts, context / parts);
      const double seconds = kernels * slow_[static_cast<size_t>(group)] + links(p, batch / parts);
      slowest = std::max(slowest, seconds);
      sum += seconds;
    }
    // A part waits for the others at the slowest stage; with fewer parts than stages its own way is the
    // longer.
    const double through = std::max(sum, slowest * parts);
    return through + world.decode_seconds + batch * world.sequence_seconds;
  }

  double prefill(double tokens) const {
    const double passes = std::ceil(tokens / setup_.world().batched_tokens);
    const Work work{tokens / passes, tokens / passes * prompt_};
    double slowest = 0, sum = 0;
    for (int32_t p = 0; p < setup_.stages(); ++p) {
      const int32_t group = first_ + p;
      const double layer = setup_.kernel(group).layer(work, setup_.world().prefill_efficiency);
      const double seconds =
          setup_.layers(p) * layer * slow_[static_cast<size_t>(group)] + links(p, work.tokens);
      slowest = std::max(slowest, seconds);
      sum += seconds;
    }
    return sum + (passes - 1) * slowest;
  }

 private:
  double links(int32_t p, double tokens) const {
    const double bytes =
        tokens * static_cast<double>(setup_.model().config.hidden) * setup_.job().weight_bytes;
    const double hop = setup_.axes().pipeline.send(bytes / setup_.placement().layout.tp);
    return 2 * setup_.layers(p) * setup_.axes().tensor.all_reduce(bytes) + hop;
  }

  const StageSetup& setup_;
  const std::vector<double>& slow_;
  int32_t first_;
  double prompt_;
};

/// Requests of each replica: whole groups where there are enough of them, dealt in turn, since nobody knows
/// yet how long they will get.
std::vector<std::vector<Request>> requests_of(const StageSetup& setup, const StepLengths& lengths) {
  const auto replicas = static_cast<size_t>(setup.replicas());
  const auto group =
      static_cast<size_t>(setup.job().prompts) >= replicas ? static_cast<size_t>(setup.job().completions) : 1;
  std::vector<std::vector<Request>> requests(replicas);
  for (size_t i = 0; i < lengths.responses.size(); ++i)
    requests[i / group % replicas].push_back({lengths.prompts[i], lengths.responses[i]});
  return requests;
}

}  // namespace

DecodingResult generate(const StageSetup& setup, const StepLengths& lengths, const std::vector<double>& slow,
                        const std::vector<double>& kv_tokens) {
  double prompts = 0;
  for (const int32_t prompt : lengths.prompts) prompts += prompt;
  const double mean_prompt = prompts / static_cast<double>(std::max<size_t>(lengths.prompts.size(), 1));
  const auto requests = requests_of(setup, lengths);
  DecodingResult slowest;
  bool fits = true;
  for (size_t d = 0; d < requests.size(); ++d) {
    const Replica replica(setup, slow, static_cast<int32_t>(d), mean_prompt);
    const DecodingReplica decoder{
        kv_tokens[d], setup.world().kv_block,
        [&](double batch, double context) { return replica.iteration(batch, context); },
        [&](double tokens) { return replica.prefill(tokens); }};
    const auto result = decode(decoder, requests[d]);
    fits = fits && result.fits;
    if (result.seconds >= slowest.seconds) slowest = result;
  }
  slowest.fits = fits;
  return slowest;
}

}  // namespace nereus::simulator
