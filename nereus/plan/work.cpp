#include "nereus/plan/work.h"

#include <algorithm>
#include <cmath>

namespace nereus::plan {
namespace {

int64_t parts(int64_t whole, int64_t size) {
  return (whole + size - 1) / size;
}

/// Of all replicas.
int64_t sequences_at_once(const Job& job, ModelStage what) {
  return std::max<int64_t>(
      1, what.stage == Stage::train ? parts(job.samples(), job.minibatches) : job.samples());
}

}  // namespace

int64_t sequences_of_replica(const Job& job, const Placement& placement) {
  return parts(sequences_at_once(job, placement.what), placement.layout.dp);
}

int64_t micro_batches(const Job& job, const Placement& placement) {
  return parts(sequences_of_replica(job, placement), placement.micro_batch);
}

int64_t updates(const Job& job) {
  return int64_t{job.minibatches} * job.epochs;
}

int64_t longest_sequence(const Job& job) {
  return job.lengths.prompt + job.lengths.max_response;
}

double in_blocks(double tokens) {
  return std::ceil(tokens / static_cast<double>(kBlockTokens)) * static_cast<double>(kBlockTokens);
}

Work work_of(const Lengths& lengths, double sequences) {
  const double prompt = static_cast<double>(lengths.prompt), mean = lengths.mean_response();
  if (lengths.responses.empty())
    return {sequences * (prompt + mean), sequences * ((prompt + mean) * (prompt + mean)), sequences * mean};
  int64_t sum = 0;
  for (const int32_t response : lengths.responses)
    sum += (lengths.prompt + response) * (lengths.prompt + response);
  const double squares = static_cast<double>(sum) / static_cast<double>(lengths.responses.size());
  return {sequences * (prompt + mean), sequences * squares, sequences * mean};
}

Work work_of_slowest(const Job& job, const Placement& placement, const Work& sequence) {
  const Work share = sequence * static_cast<double>(sequences_of_replica(job, placement));
  if (job.lengths.responses.empty()) return share;
  const double drawn = static_cast<double>(sequences_at_once(job, placement.what));
  const double response = job.lengths.at(1 - 0.5 / drawn),
               tokens = static_cast<double>(job.lengths.prompt) + response;
  return tokens > share.tokens ? Work{tokens, tokens * tokens, response} : share;
}

}  // namespace nereus::plan
