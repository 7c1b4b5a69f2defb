#include "nereus/runtime/actor.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "nereus/checkpoint/adapter.h"

namespace nereus::runtime {

namespace {

Status add_adapter(model::Transformer& model, const std::filesystem::path& folder) {
  auto adapter = checkpoint::read_adapter(folder, model.config());
  if (!adapter) return pass(adapter);
  return model.add_lora(*adapter);
}

Status make_trainable(model::Transformer& model, const Job& job) {
  if (!job.lora.enabled) return model.train_all(), Status();
  if (!job.model.adapter.empty()) return add_adapter(model, job.model.adapter);
  return model.add_lora(job.lora.options, job.run.seed);
}

}  // namespace

Result<std::shared_ptr<const model::PackedAdapter>> read_packed_adapter(const model::Transformer& model,
                                                                        const std::filesystem::path& folder) {
  const auto adapter = checkpoint::read_adapter(folder, model.config());
  if (!adapter) return pass(adapter);
  return model.pack_adapter(*adapter);
}

Result<Sampler> load_sampler(const SamplerOptions& options) {
  auto source = checkpoint::Source::open(options.model);
  if (!source) return pass(source);
  auto model = model::Transformer::load(*source, options.dtype);
  if (!model) return pass(model);
  Sampler sampler{std::move(*source), std::make_unique<model::Transformer>(std::move(*model)), nullptr};
  sampler.engine = std::make_unique<generation::Engine>(*sampler.model, options.engine);
  if (options.adapter.empty()) return sampler;
  auto adapter = read_packed_adapter(*sampler.model, options.adapter);
  if (!adapter) return pass(adapter);
  sampler.engine->set_policy("", 0, std::move(*adapter));
  return sampler;
}

Result<Actor> Actor::load(const Job& job) {
  auto source = checkpoint::Source::open(job.model.path);
  if (!source) return pass(source);
  auto model = model::Transformer::load(*source);
  if (!model) return pass(model);
  auto trained = std::make_unique<model::Transformer>(std::move(*model));
  if (auto status = make_trainable(*trained, job); !status) return pass(status);
  Sampler sampler{std::move(*source),
                  std::make_unique<model::Transformer>(trained->packed(job.generation.dtype)), nullptr};
  sampler.engine = std::make_unique<generation::Engine>(*sampler.model, engine_options(job));
  Actor actor(std::move(trained), std::move(sampler));
  actor.update(0);
  return actor;
}

void Actor::update(int64_t version) {
  sampler_.model->copy_weights(*trained_);
  sampler_.engine->set_policy("", version, trained_->packed_adapter());
}

std::unique_ptr<generation::Engine> Actor::make_engine(const generation::EngineOptions& options) const {
  auto engine = std::make_unique<generation::Engine>(*sampler_.model, options);
  engine->set_policy("", 0, trained_->packed_adapter());
  return engine;
}

ThreadShares split_threads(int64_t sampler) {
  const int64_t all = at::get_num_threads();
  const int64_t share =
      std::clamp<int64_t>(sampler > 0 ? sampler : all / 2, 1, std::max<int64_t>(1, all - 1));
  return {std::max<int64_t>(1, all - share), share};
}

void use_threads(int64_t threads) {
  (void)at::get_num_threads();  // the first time it takes over what another thread has set
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

}  // namespace nereus::runtime
