#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "nereus/base/json.h"
#include "nereus/rl/policy_loss.h"

namespace nereus::rl {

/// The file that tests/golden/rl/make.py wrote.
inline Json golden() {
  std::ifstream file(NEREUS_SOURCE_DIR "/tests/golden/rl/golden.json");
  std::stringstream text;
  text << file.rdbuf();
  return value_or_throw(parse_json(text.str(), "golden.json"));
}

template <class T>
at::Tensor tensor(std::vector<T> values, at::ScalarType dtype) {
  const auto size = static_cast<int64_t>(values.size());
  return at::from_blob(values.data(), {size}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value))
      .to(dtype, false, true);
}

inline std::vector<double> numbers(const at::Tensor& values) {
  const at::Tensor copy = values.detach().to(at::kDouble).contiguous();
  return {copy.data_ptr<double>(), copy.data_ptr<double>() + copy.numel()};
}

/// Sequences `begin` to `end` of a batch of the golden file, with leaves that collect gradients.
inline TokenBatch batch_of(const Json& json, size_t begin, size_t end, at::ScalarType dtype = at::kDouble) {
  const auto lengths = json.at("lengths").get<std::vector<int64_t>>();
  size_t first = 0;
  for (size_t s = 0; s < begin; ++s) first += static_cast<size_t>(lengths[s]);
  std::vector<int64_t> sequence;
  for (size_t s = begin; s < end; ++s)
    sequence.insert(sequence.end(), static_cast<size_t>(lengths[s]), static_cast<int64_t>(s - begin));
  const auto part = [&](const char* key, size_t from, size_t count) {
    const auto all = json.at(key).get<std::vector<double>>();
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(from);
    return tensor(std::vector<double>(start, start + static_cast<std::ptrdiff_t>(count)), dtype);
  };
  const size_t count = sequence.size();
  TokenBatch batch;
  batch.logprob = part("logprob", first, count).set_requires_grad(true);
  batch.entropy = part("entropy", first, count).set_requires_grad(true);
  batch.old_logprob = part("old", first, count);
  batch.ref_logprob = part("ref", first, count);
  batch.sampler_logprob = part("sampler", first, count);
  batch.advantage = part("advantage", begin, end - begin);
  batch.mask = part("mask", first, count);
  batch.sequence = tensor(std::move(sequence), at::kLong);
  return batch;
}

inline std::optional<double> number(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  return json.at(key).get<double>();
}

template <class Enum, class Names>
Enum named(const Names& names, const std::string& name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  throw std::runtime_error("unknown name " + name);
}

inline LossOptions options_of(const Json& json) {
  LossOptions options;
  options.loss = named<LossKind>(kLossKinds, json.at("loss").get<std::string>());
  if (json.contains("aggregation"))
    options.aggregation = named<Aggregation>(kAggregations, json.at("aggregation").get<std::string>());
  options.epsilon = number(json, "epsilon");
  options.epsilon_high = number(json, "epsilon_high");
  options.delta = number(json, "delta");
  options.dual_clip = number(json, "dual_clip");
  options.cispo_max = number(json, "cispo_max").value_or(options.cispo_max);
  options.sapo_temperature_pos = number(json, "sapo_temperature_pos").value_or(options.sapo_temperature_pos);
  options.sapo_temperature_neg = number(json, "sapo_temperature_neg").value_or(options.sapo_temperature_neg);
  options.beta = number(json, "beta").value_or(0.0);
  options.kl_times_ratio = json.value("kl_times_ratio", true);
  options.correction.mode = named<CorrectionMode>(kCorrectionModes, json.value("correction", "none"));
  options.correction.min = number(json, "correction_min");
  options.correction.max = number(json, "correction_max");
  options.off_policy_threshold = number(json, "off_policy_threshold");
  options.entropy_coef = number(json, "entropy_coef").value_or(0.0);
  return options;
}

inline GlobalCounts counts_of(const Json& json) {
  GlobalCounts counts;
  counts.active_tokens = json.at("active_tokens").get<double>();
  counts.active_sequences = json.at("active_sequences").get<double>();
  counts.sequences = json.at("sequences").get<double>();
  counts.max_completion_length = json.at("max_completion_length").get<double>();
  counts.entropy_threshold = number(json, "entropy_threshold");
  counts.entropy_tokens = number(json, "entropy_tokens").value_or(0.0);
  return counts;
}

}  // namespace nereus::rl
