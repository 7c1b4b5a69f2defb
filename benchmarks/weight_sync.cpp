// How long a new policy takes from the trainer's memory to the first tokens that servers sample from it:
//
//   weight_sync MODEL --url http://127.0.0.1:8000 --bucket FOLDER --rank 32 --servers 2
//
// MODEL is the base that the servers behind the URL (a proxy's, or one server's) have; only its config.json
// is read here. Prints one JSON line a round.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "nereus/base/clock.h"
#include "nereus/checkpoint/source.h"
#include "nereus/runtime/fingerprint.h"
#include "nereus/runtime/remote_sampler.h"
#include "nereus/spec/tensor_table.h"

namespace nereus {

namespace {

struct Work {
  std::filesystem::path model, bucket;
  std::string url;
  int64_t rank = 32, servers = 2, rounds = 5;
};

/// An adapter on all linear layers, small enough not to change what the base says much.
checkpoint::Adapter random_adapter(const spec::ModelConfig& config, int64_t rank) {
  checkpoint::Adapter adapter{rank, static_cast<double>(rank), false, {}, {}};
  for (const spec::TensorSpec& tensor : spec::tensor_table(config)) {
    if (!tensor.linear()) continue;
    if (tensor.layer == 0) adapter.target_modules.push_back(tensor.module());
    const std::string path = tensor.name.substr(0, tensor.name.rfind('.'));
    adapter.modules.emplace(path, std::pair(at::randn({rank, tensor.shape[1]}) * 1e-2,
                                            at::randn({tensor.shape[0], rank}) * 1e-3));
  }
  return adapter;
}

int64_t bytes_of(const checkpoint::Adapter& adapter) {
  int64_t bytes = 0;
  for (const auto& [path, pair] : adapter.modules)
    bytes += static_cast<int64_t>(pair.first.nbytes() + pair.second.nbytes());
  return bytes;
}

/// One token from each server, under the newest policy.
Status sample_everywhere(rollout::Generator& generator, int64_t servers, uint64_t first_id, int64_t version) {
  for (int64_t i = 0; i < servers; ++i) {
    rollout::Request request;
    request.prompt_id = first_id + static_cast<uint64_t>(i);
    request.prompt = {static_cast<int32_t>(100 + i), 200, 300};
    request.sampling.max_new_tokens = 1;
    if (auto status = generator.submit(std::move(request)); !status) return status;
  }
  for (int64_t answered = 0; answered < servers;) {
    const auto groups = generator.step();
    if (!groups) return pass(groups);
    for (const auto& group : *groups)
      if (group.completions.front().versions.front() != version)
        return fail("a token of version {}, expected {}", group.completions.front().versions.front(),
                    version);
    answered += std::ssize(*groups);
  }
  return {};
}

Status measure(const Work& work) {
  const auto source = checkpoint::Source::open(work.model);
  if (!source) return pass(source);
  const auto print = runtime::model_fingerprint(work.model);
  if (!print) return pass(print);
  runtime::RemoteSamplerOptions options;
  auto url = http::Url::parse(work.url);
  if (!url) return pass(url);
  options.remote.url = std::move(*url);
  options.remote.wait_seconds = 0.001;
  options.fingerprint = *print;
  options.base_model = work.model.string();
  auto bucket = serving::Bucket::open(work.bucket);
  if (!bucket) return pass(bucket);
  auto sampler = runtime::RemoteSampler::connect(std::move(options), std::move(*bucket));
  if (!sampler) return pass(sampler);
  const checkpoint::Adapter adapter = random_adapter(source->config(), work.rank);
  const SteadyClock clock;
  for (int64_t round = 0; round < work.rounds; ++round) {
    const Stopwatch watch(clock);
    (*sampler)->hand_over(adapter, round);
    const double copied = watch.seconds();
    for (std::optional<int64_t> version; !version;) {
      const auto adopted = (*sampler)->adopt();
      if (!adopted) return pass(adopted);
      version = *adopted;
      if (!version) std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (!version && !(*sampler)->trouble().empty()) return fail("{}", (*sampler)->trouble());
    }
    const double loaded = watch.seconds();
    const auto id = static_cast<uint64_t>(round * work.servers);
    if (auto status = sample_everywhere((*sampler)->generator(), work.servers, id, round); !status)
      return status;
    fmt::print(
        "{{\"rank\": {}, \"bytes\": {}, \"copy_s\": {:.4f}, \"publish_and_load_s\": {:.4f}, "
        "\"first_tokens_s\": {:.4f}, \"all_s\": {:.4f}}}\n",
        work.rank, bytes_of(adapter), copied, loaded - copied, watch.seconds() - loaded, watch.seconds());
  }
  return {};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Measures how long a new policy takes to the servers");
  Work work;
  app.add_option("model", work.model)->required();
  app.add_option("--url", work.url)->required();
  app.add_option("--bucket", work.bucket)->required();
  app.add_option("--rank", work.rank)->check(CLI::PositiveNumber);
  app.add_option("--servers", work.servers)->check(CLI::PositiveNumber);
  app.add_option("--rounds", work.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const auto done = measure(work);
  if (!done) fmt::print(stderr, "weight_sync: {}\n", done.error().message);
  return done ? 0 : 1;
}

}  // namespace nereus

int main(int argc, char** argv) {
  return nereus::run(argc, argv);
}
