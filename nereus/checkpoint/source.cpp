#include "nereus/checkpoint/source.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nereus/checkpoint/dequantize.h"
#include "nereus/checkpoint/weight_files.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/mapped_file.h"

namespace nereus::checkpoint {

struct Source::Files {
  std::filesystem::path path;
  spec::ModelConfig config;
  std::optional<formats::GgufFile> gguf;
  std::optional<WeightFiles> weights;

  const formats::TensorView* find(const spec::TensorSpec& spec) const {
    return gguf ? gguf->find(spec.gguf_name) : weights->find(spec.name);
  }
  /// The file that holds the tensor, and its name there, for errors.
  std::string where(const spec::TensorSpec& spec) const {
    return gguf ? fmt::format("{}: tensor '{}'", gguf->source(), spec.gguf_name)
                : fmt::format("{}: tensor '{}'", weights->file_of(spec.name), spec.name);
  }
};

namespace {

// Elements below which a thread is not worth its start.
constexpr int64_t kGrainElements = 1 << 16;

Result<spec::ModelConfig> read_config(const std::filesystem::path& folder) {
  const auto path = folder / "config.json";
  const auto json = formats::read_json_file(path);
  if (!json) return pass(json);
  auto config = spec::config_from_json(*json, path.string());
  if (!config) return config;
  const auto generation = folder / "generation_config.json";
  if (!std::filesystem::exists(generation)) return config;
  const auto extra = formats::read_json_file(generation);
  if (!extra) return pass(extra);
  if (auto added = spec::add_generation_config(*config, *extra, generation.string()); !added)
    return pass(added);
  return config;
}

template <class Files>
Status check_tensor(const Files& files, const spec::TensorSpec& spec) {
  const formats::TensorView* view = files.find(spec);
  if (view == nullptr) {
    return fail("{} is missing; expected shape {}", files.where(spec), formats::shape_text(spec.shape));
  }
  if (view->shape != spec.shape) {
    return fail("{} has shape {}; the configuration makes it {}", files.where(spec),
                formats::shape_text(view->shape), formats::shape_text(spec.shape));
  }
  if (!readable(view->dtype)) {
    return fail("{} has type {}; expected one of {}", files.where(spec), formats::dtype_name(view->dtype),
                kReadableTypes);
  }
  return {};
}

/// A bias would change the result, and no model of the table has one.
Status refuse_biases(std::string_view source, const std::vector<formats::TensorView>& tensors) {
  for (const auto& tensor : tensors) {
    if (tensor.name.ends_with(".bias"))
      return fail("{}: tensor '{}': biases are not supported", source, tensor.name);
  }
  return {};
}

/// The row of a GGUF file of the Llama family that is row `row` of Hugging Face's q or k: files interleave
/// the halves of each head, which rotary embedding pairs.
int64_t gguf_row(int64_t row, int64_t head_dim) {
  const int64_t head = row / head_dim, place = row % head_dim, half = head_dim / 2;
  return head * head_dim + 2 * (place % half) + place / half;
}

Status check_destination(const spec::TensorSpec& spec, const at::Tensor& destination) {
  if (!destination.defined() || destination.scalar_type() != at::kFloat || !destination.device().is_cpu() ||
      destination.sizes() != at::IntArrayRef(spec.shape) ||
      (destination.dim() > 0 && destination.stride(-1) != 1)) {
    return fail("tensor '{}': the destination must be fp32 on the CPU, of shape {}, with contiguous rows",
                spec.name, formats::shape_text(spec.shape));
  }
  return {};
}

}  // namespace

Result<Source> Source::open(const std::filesystem::path& path) {
  auto files = std::make_shared<Files>();
  files->path = path;
  if (std::filesystem::is_directory(path)) {
    auto config = read_config(path);
    if (!config) return pass(config);
    files->config = std::move(*config);
    auto weights = WeightFiles::open(path);
    if (!weights) return pass(weights);
    files->weights = std::move(*weights);
    for (const auto& shard : files->weights->shards()) {
      if (auto plain = refuse_biases(shard.source(), shard.tensors()); !plain) return pass(plain);
    }
  } else {
    auto gguf = formats::GgufFile::open(path);
    if (!gguf) return pass(gguf);
    files->gguf = std::move(*gguf);
    auto config = spec::config_from_gguf(*files->gguf);
    if (!config) return pass(config);
    files->config = std::move(*config);
    if (auto plain = refuse_biases(path.string(), files->gguf->tensors()); !plain) return pass(plain);
  }
  for (const auto& spec : spec::tensor_table(files->config)) {
    if (auto checked = check_tensor(*files, spec); !checked) return pass(checked);
  }
  Source source;
  source.files_ = std::move(files);
  return source;
}

const spec::ModelConfig& Source::config() const {
  return files_->config;
}

const std::filesystem::path& Source::path() const {
  return files_->path;
}

const formats::GgufFile* Source::gguf() const {
  return files_->gguf ? &*files_->gguf : nullptr;
}

Result<at::Tensor> Source::read(const spec::TensorSpec& spec) const {
  at::Tensor tensor = at::empty(spec.shape, at::kFloat);
  if (auto done = read_into(spec, tensor); !done) return pass(done);
  return tensor;
}

Status Source::read_into(const spec::TensorSpec& spec, at::Tensor destination) const {
  if (auto checked = check_tensor(*files_, spec); !checked) return checked;
  if (auto checked = check_destination(spec, destination); !checked) return checked;
  const formats::TensorView& view = *files_->find(spec);
  const int64_t columns = spec.shape.back(), rows = spec.elements() / std::max<int64_t>(1, columns);
  const int64_t stride = destination.dim() > 1 ? destination.stride(0) : columns;
  const auto block = formats::block_size(view.dtype);
  const auto row_bytes = static_cast<size_t>(columns / block.elements * block.bytes);
  const bool interleaved =
      files_->gguf && (spec.kind == spec::TensorKind::q || spec.kind == spec::TensorKind::k);
  const int64_t head_dim = files_->config.head_dim;
  float* out = destination.data_ptr<float>();
  at::parallel_for(0, rows, std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, columns)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       const auto from = static_cast<size_t>(interleaved ? gguf_row(row, head_dim) : row);
                       dequantize(view.dtype, view.bytes.subspan(from * row_bytes, row_bytes),
                                  {out + row * stride, static_cast<size_t>(columns)});
                     }
                   });
  formats::forget_pages(view.bytes);  // most tensors are read once
  return {};
}

}  // namespace nereus::checkpoint
