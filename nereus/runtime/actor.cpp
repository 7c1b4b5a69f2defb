#include "nereus/runtime/actor.h"

#include <ATen/Parallel.h>

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

Result<Sampler> load_sampler(const SamplerOptions& options) {
  auto source = checkpoint::Source::open(options.model);
  if (!source) return pass(source);
  auto model = model::Transformer::load(*source, options.dtype);
  if (!model) return pass(model);
  Sampler sampler{std::move(*source), std::make_unique<model::Transformer>(std::move(*model)), nullptr};
  if (!options.adapter.empty())
    if (auto status = add_adapter(*sampler.model, options.adapter); !status) return pass(status);
  sampler.engine = std::make_unique<generation::Engine>(*sampler.model, options.engine);
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
  return Actor(std::move(trained), std::move(sampler));
}

void Actor::update(int64_t version) {
  sampler_.model->copy_policy(*trained_);
  sampler_.engine->set_version(version);
}

void use_threads(int64_t threads) {
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

}  // namespace nereus::runtime
