#include <algorithm>

#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/init_model.h"
#include "nereus/checkpoint/source.h"
#include "nereus/checkpoint/write_model.h"
#include "nereus/runtime/model_jobs.h"

namespace nereus::runtime {

namespace fs = std::filesystem;

namespace {

Result<formats::DType> file_dtype(const std::string& name) {
  if (name == "f32") return formats::DType::f32;
  if (name == "bf16") return formats::DType::bf16;
  if (name == "f16") return formats::DType::f16;
  return fail("dtype: expected f32, bf16 or f16, found \"{}\"", name);
}

Status check_target(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "config.json", error))
    return fail("{}: holds a model already; choose another folder", folder.string());
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot create: {}", folder.string(), error.message());
  return {};
}

Status check_sizes(const InitCommand& c) {
  if (c.heads < 1 || c.kv_heads < 1 || c.heads % c.kv_heads != 0)
    return fail("--heads {} must be a multiple of --kv-heads {}", c.heads, c.kv_heads);
  if (c.hidden < 2 || c.hidden % (2 * c.heads) != 0)
    return fail("--hidden {} must be a multiple of twice --heads {}", c.hidden, c.heads);
  if (c.layers < 1 || c.intermediate < 1 || c.context < 2)
    return fail("--layers, --intermediate and --context must be positive");
  return {};
}

spec::ModelConfig config_of(const InitCommand& c, const spec::ModelConfig& tokenizer) {
  spec::ModelConfig config;
  config.vocab = tokenizer.vocab;
  config.hidden = c.hidden;
  config.intermediate = c.intermediate;
  config.layers = c.layers;
  config.heads = c.heads;
  config.kv_heads = c.kv_heads;
  config.head_dim = c.hidden / c.heads;
  config.context = c.context;
  config.tied = !c.untied;
  config.bos_id = tokenizer.bos_id;
  config.eos_ids = tokenizer.eos_ids;
  return config;
}

}  // namespace

Status init_model(const InitCommand& command) {
  if (auto status = check_sizes(command); !status) return status;
  auto dtype = file_dtype(command.dtype);
  if (!dtype) return pass(dtype);
  auto tokenizer = checkpoint::Source::open(command.tokenizer_from);
  if (!tokenizer) return pass(tokenizer);
  if (auto status = check_target(command.folder); !status) return status;
  const spec::ModelConfig config = config_of(command, tokenizer->config());
  const auto table = spec::tensor_table(config);
  const auto tensor_of = [&](const spec::TensorSpec& spec) -> Result<at::Tensor> {
    const auto place = std::ranges::find(table, spec.name, &spec::TensorSpec::name) - table.begin();
    return checkpoint::init_tensor(spec, static_cast<size_t>(place), command.seed);
  };
  return checkpoint::write_model(command.folder, config, tensor_of, *dtype, &*tokenizer);
}

Status convert_model(const ConvertCommand& command) {
  auto dtype = file_dtype(command.dtype);
  if (!dtype) return pass(dtype);
  auto source = checkpoint::Source::open(command.from);
  if (!source) return pass(source);
  checkpoint::Adapter adapter;
  if (!command.adapter.empty()) {
    auto read = checkpoint::read_adapter(command.adapter, source->config());
    if (!read) return pass(read);
    adapter = std::move(*read);
  }
  if (auto status = check_target(command.to); !status) return status;
  const auto tensor_of = [&](const spec::TensorSpec& spec) -> Result<at::Tensor> {
    auto tensor = source->read(spec);
    if (!tensor) return tensor;
    if (auto status = checkpoint::merge_module({spec.name, *tensor}, adapter); !status) return pass(status);
    return tensor;
  };
  return checkpoint::write_model(command.to, source->config(), tensor_of, *dtype, &*source);
}

}  // namespace nereus::runtime
