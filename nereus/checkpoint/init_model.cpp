#include "nereus/checkpoint/init_model.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "nereus/base/random.h"
#include "nereus/spec/tensor_table.h"

namespace nereus::checkpoint {
namespace {

constexpr double kDeviation = 0.02;
constexpr int64_t kGrain = 4096;  // values that a thread takes at least

bool is_norm(spec::TensorKind kind) {
  return kind == spec::TensorKind::norm || kind == spec::TensorKind::final_norm;
}

void fill_normal(at::Tensor& tensor, uint64_t seed, uint64_t stream) {
  float* values = tensor.data_ptr<float>();
  at::parallel_for(0, tensor.numel(), kGrain, [&](int64_t begin, int64_t end) {
    RandomStream random(seed, stream, 2 * static_cast<uint64_t>(begin));  // a normal takes two values
    for (int64_t i = begin; i < end; ++i) values[i] = static_cast<float>(kDeviation * random.normal());
  });
}

}  // namespace

at::Tensor init_tensor(const spec::TensorSpec& spec, size_t place, uint64_t seed) {
  at::Tensor tensor = at::empty(spec.shape, at::kFloat);
  if (is_norm(spec.kind))
    tensor.fill_(1);
  else
    fill_normal(tensor, seed, place);
  return tensor;
}

std::vector<NamedTensor> init_model(const spec::ModelConfig& config, uint64_t seed) {
  std::vector<NamedTensor> tensors;
  for (const auto& spec : spec::tensor_table(config))
    tensors.push_back({spec.name, init_tensor(spec, tensors.size(), seed)});
  return tensors;
}

}  // namespace nereus::checkpoint
