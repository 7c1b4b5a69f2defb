#include "nereus/runtime/serve_job.h"

#include <chrono>
#include <future>
#include <ostream>
#include <thread>

#include "nereus/ops/product.h"
#include "nereus/runtime/actor.h"
#include "nereus/runtime/fingerprint.h"
#include "nereus/runtime/interrupt.h"
#include "nereus/runtime/sampling.h"
#include "nereus/serving/adapter_folder.h"
#include "nereus/serving/endpoint.h"

namespace nereus::runtime {

namespace {

std::string served_name(const ServeCommand& command) {
  if (!command.name.empty()) return command.name;
  const auto path = std::filesystem::absolute(command.model).lexically_normal();
  const auto last = path.has_filename() ? path : path.parent_path();
  return last.extension() == ".gguf" ? last.stem().string() : last.filename().string();
}

SamplerOptions sampler_options(const ServeCommand& command) {
  SamplerOptions options;
  options.model = command.model;
  options.dtype = command.bf16 ? kernels::Element::bf16 : kernels::Element::f32;
  options.engine.max_running = command.max_running;
  options.engine.prefill_tokens = command.prefill_tokens;
  options.engine.kv_bytes = command.kv_memory_mb << 20;
  options.engine.kv_element = options.dtype;
  options.engine.prefix_cache = command.prefix_cache;
  return options;
}

Result<std::optional<text::ChatTemplate>> chat_template(const text::Tokenizer& tokenizer) {
  if (tokenizer.chat_template().empty()) return std::nullopt;
  auto parsed = text::ChatTemplate::parse(tokenizer.chat_template(), "chat template");
  if (!parsed) return pass(parsed);
  return std::move(*parsed);
}

serving::EndpointOptions endpoint_options(const ServeCommand& command, const spec::ModelConfig& config,
                                          const text::Tokenizer& tokenizer, const std::string& fingerprint) {
  serving::EndpointOptions options;
  options.model_name = served_name(command);
  options.fingerprint = fingerprint;
  options.root = command.model.string();
  rollout::SamplingOptions ends;
  add_stop_ids(ends, config, tokenizer, {});
  options.end_ids = ends.stop_ids;
  options.limits.vocab_size = static_cast<int32_t>(config.vocab);
  options.adapter_slots = static_cast<size_t>(command.adapter_slots);
  options.adapter_root = command.adapter_root;
  options.seed = command.seed;
  return options;
}

/// How the engine gets adapters. Both outlive it.
serving::AdapterHooks adapter_hooks(const model::Transformer& model, generation::Engine& engine) {
  return {[&](const std::string& name, const std::string& path) -> Result<std::function<void()>> {
            use_threads(1);  // the loader's; the others are the engine's
            auto adapter = read_packed_adapter(model, path);
            if (!adapter) return pass(adapter);
            int64_t version = serving::version_of(name);
            if (version < 0) version = serving::version_of(std::filesystem::path(path).filename().string());
            return [&engine, name, version = std::max<int64_t>(0, version), adapter = std::move(*adapter)] {
              engine.replace_policy(name, version, adapter);
            };
          },
          [&engine](const std::string& name) { engine.remove_policy(name); }};
}

serving::EngineThreadOptions engine_options(const ServeCommand& command) {
  serving::EngineThreadOptions options;
  options.base_name = served_name(command);
  options.max_requests = static_cast<size_t>(command.max_requests);
  options.adapter_slots = static_cast<size_t>(command.adapter_slots);
  options.burst = {.quiet = command.burst_ms / 5000, .most = command.burst_ms / 1000};
  options.on_start = [threads = command.threads] { use_threads(threads); };
  return options;
}

/// On a thread of its own: OpenMP's threads belong to the one that called them and end with it. Beside those
/// of the engine's they would be more than there are processors, and then OpenMP puts them all to sleep
/// between two loops.
Result<Sampler> load(const ServeCommand& command) {
  const auto work = [&command] {
    use_threads(command.threads);
    return load_sampler(sampler_options(command));
  };
  return std::async(std::launch::async, work).get();
}

Status load_adapters(serving::EngineThread& engine, const ServeCommand& command) {
  for (const auto& [name, path] : command.adapters) {
    const auto done = std::make_shared<std::promise<Status>>();
    engine.load(name, std::filesystem::absolute(path).string(), false,
                [done](const Status& status) { done->set_value(status); });
    if (auto status = done->get_future().get(); !status) return status;
  }
  return {};
}

}  // namespace

Status serve(const ServeCommand& command, std::ostream& out) {
  const Interrupt interrupt;
  ops::set_matmul_precision(command.matmul_precision);
  auto fingerprint = model_fingerprint(command.model);
  if (!fingerprint) return pass(fingerprint);
  auto tokenizer = text::Tokenizer::load(command.model);
  if (!tokenizer) return pass(tokenizer);
  auto chat = chat_template(*tokenizer);
  if (!chat) return pass(chat);
  auto sampler = load(command);
  if (!sampler) return pass(sampler);
  const auto options = endpoint_options(command, sampler->source.config(), *tokenizer, *fingerprint);

  auto hooks = serving::with_checked_folders(adapter_hooks(*sampler->model, *sampler->engine), *fingerprint);
  http::Loop loop;  // the engine tells it of tokens as long as it lives
  serving::EngineThread engine(std::move(sampler->engine), std::move(hooks), engine_options(command));
  if (auto status = load_adapters(engine, command); !status) return status;
  serving::Endpoint endpoint(loop, engine, std::move(*tokenizer), std::move(*chat), options);
  auto server = http::Server::start(
      loop, command.server, [&endpoint](http::Exchange& exchange) { return endpoint.handle(exchange); });
  if (!server) return pass(server);
  out << fmt::format("{} is served at {}\n", options.model_name, (*server)->url()) << std::flush;
  while (!interrupt.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  out << "ending: requests that run are finished first\n" << std::flush;
  (*server)->stop(command.grace_seconds);
  return {};
}

}  // namespace nereus::runtime
