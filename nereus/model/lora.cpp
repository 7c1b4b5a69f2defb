#include "nereus/model/lora.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "nereus/base/random.h"
#include "nereus/model/transformer.h"

namespace nereus::model {
namespace {

/// Last part of a module's path.
std::string_view leaf(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// An adapter on the targeted modules of a fused layer: A and B zero, frozen.
ops::LowRank empty_low_rank(const Linear& linear, const LoraOptions& options) {
  ops::LowRank low_rank;
  int64_t a_rows = 0, b_rows = 0;
  for (const Module& module : linear.modules()) {
    if (!contains(options.target_modules, leaf(module.path))) continue;
    low_rank.parts.push_back({module.out_begin, module.out_rows, a_rows, b_rows});
    a_rows += options.rank;
    b_rows += module.out_rows;
  }
  if (low_rank.parts.empty()) return low_rank;
  low_rank.a = at::zeros({a_rows, linear.in()}, at::kFloat);
  low_rank.b = at::zeros({b_rows, options.rank}, at::kFloat);
  low_rank.scale = static_cast<float>(options.scale());
  return low_rank;
}

/// The module that a part belongs to.
const Module& module_of(const Linear& linear, const ops::LowRankPart& part) {
  return *std::find_if(linear.modules().begin(), linear.modules().end(),
                       [&](const Module& m) { return m.out_begin == part.out_begin; });
}

/// Kaiming uniform with a = √5, as PEFT: within ±1/√in.
void fill_uniform(at::Tensor a, uint64_t seed, uint64_t stream) {
  RandomStream random(seed, stream);
  const double bound = 1.0 / std::sqrt(static_cast<double>(a.size(1)));
  float* data = a.data_ptr<float>();
  for (int64_t i = 0; i < a.numel(); ++i) data[i] = static_cast<float>((2 * random.uniform() - 1) * bound);
}

constexpr uint64_t kLoraStream = 0x10AA;  ///< apart from the streams of data and of sampling

Status check(const LoraOptions& options) {
  if (options.rank < 1) return fail("LoRA rank is {}; expected at least 1", options.rank);
  for (const std::string& name : options.target_modules)
    if (!contains(LoraOptions().target_modules, name))
      return fail("LoRA target module '{}' is unknown; expected some of {}", name,
                  fmt::join(LoraOptions().target_modules, ", "));
  if (options.target_modules.empty()) return fail("LoRA has no target modules");
  return {};
}

/// The options that an adapter from a file was made with. The modules that are there say what is targeted:
/// PEFT's list may hold names, whole paths or a pattern.
LoraOptions options_of(const checkpoint::Adapter& adapter) {
  LoraOptions options{adapter.rank, adapter.alpha, adapter.rslora, {}};
  for (const auto& [path, pair] : adapter.modules)
    if (!contains(options.target_modules, leaf(path))) options.target_modules.emplace_back(leaf(path));
  return options;
}

/// The part of an adapter that concerns a fused layer; modules that the adapter leaves alone are zero.
Result<ops::LowRank> low_rank_of(const Linear& linear, const checkpoint::Adapter& adapter,
                                 const LoraOptions& options) {
  ops::LowRank low_rank = empty_low_rank(linear, options);
  for (const ops::LowRankPart& part : low_rank.parts) {
    const std::string& path = module_of(linear, part).path;
    const auto found = adapter.modules.find(path);
    if (found == adapter.modules.end()) continue;
    const auto& [from_a, from_b] = found->second;
    at::Tensor a = low_rank.a.narrow(0, part.a_begin, options.rank);
    at::Tensor b = low_rank.b.narrow(0, part.b_begin, part.out_rows);
    if (from_a.sizes() != a.sizes() || from_b.sizes() != b.sizes())
      return fail("adapter: {} does not fit the model: expected A [{}, {}] and B [{}, {}]", path, a.size(0),
                  a.size(1), b.size(0), b.size(1));
    a.copy_(from_a);
    b.copy_(from_b);
  }
  return low_rank;
}

}  // namespace

double LoraOptions::scale() const {
  return rslora ? alpha / std::sqrt(static_cast<double>(rank)) : alpha / static_cast<double>(rank);
}

Status Transformer::add_lora(const LoraOptions& options, uint64_t seed) {
  if (auto status = check(options); !status) return status;
  lora_ = options;
  uint64_t stream = kLoraStream << 32;
  for (Layer& layer : layers_)
    for (Linear* linear : layer.linears()) {
      ops::LowRank low_rank = empty_low_rank(*linear, options);
      if (!low_rank.defined()) continue;
      fill_uniform(low_rank.a, seed, stream++);
      low_rank.a.requires_grad_(), low_rank.b.requires_grad_();
      linear->set_low_rank(std::move(low_rank));
    }
  return {};
}

Status Transformer::add_lora(const checkpoint::Adapter& adapter) {
  const LoraOptions options = options_of(adapter);
  if (auto status = check(options); !status) return status;
  std::vector<ops::LowRank> parts;
  for (const Layer& layer : layers_)
    for (const Linear* linear : layer.linears()) {
      auto part = low_rank_of(*linear, adapter, options);
      if (!part) return pass(part);
      if (part->defined()) part->a.requires_grad_(), part->b.requires_grad_();
      parts.push_back(std::move(*part));
    }
  lora_ = options;
  auto part = parts.begin();
  for (Layer& layer : layers_)
    for (Linear* linear : layer.linears()) linear->set_low_rank(std::move(*part++));
  return {};
}

std::shared_ptr<const PackedAdapter> Transformer::packed_adapter() const {
  if (!lora_) return nullptr;
  auto packed = std::make_shared<PackedAdapter>();
  for (const Layer& layer : layers_)
    for (const Linear* linear : layer.linears()) packed->linears.emplace_back(linear->low_rank());
  return packed;
}

Result<std::shared_ptr<const PackedAdapter>> Transformer::pack_adapter(
    const checkpoint::Adapter& adapter) const {
  const LoraOptions options = options_of(adapter);
  if (auto status = check(options); !status) return pass(status);
  auto packed = std::make_shared<PackedAdapter>();
  for (const Layer& layer : layers_)
    for (const Linear* linear : layer.linears()) {
      auto part = low_rank_of(*linear, adapter, options);
      if (!part) return pass(part);
      packed->linears.emplace_back(*part);
    }
  return packed;
}

std::optional<checkpoint::Adapter> Transformer::adapter() const {
  if (!lora_) return std::nullopt;
  checkpoint::Adapter adapter{lora_->rank, lora_->alpha, lora_->rslora, lora_->target_modules, {}};
  for (const Layer& layer : layers_)
    for (const Linear* linear : layer.linears()) {
      const ops::LowRank& low_rank = linear->low_rank();
      for (const ops::LowRankPart& part : low_rank.parts)
        adapter.modules[module_of(*linear, part).path] = {
            low_rank.a.detach().narrow(0, part.a_begin, lora_->rank),
            low_rank.b.detach().narrow(0, part.b_begin, part.out_rows)};
    }
  return adapter;
}

}  // namespace nereus::model
