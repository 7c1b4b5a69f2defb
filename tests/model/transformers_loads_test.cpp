// What we write, loaded by Transformers and PEFT: equal logits. Runs where scripts/setup --peers has been.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cstdio>
#include <filesystem>

#include "nereus/base/json.h"
#include "nereus/checkpoint/adapter.h"
#include "nereus/checkpoint/write_model.h"
#include "nereus/model/transformer.h"
#include "nereus/train/packing.h"
#include "tests/golden/golden_file.h"

namespace nereus::model {
namespace {

namespace fs = std::filesystem;

fs::path python() {
  return fs::path(NEREUS_SOURCE_DIR) / ".deps/peers/python/bin/python";
}

const std::vector<int32_t> kIds{5, 9, 100, 42, 7, 7, 31};

at::Tensor logits_of(const Transformer& model) {
  const at::NoGradGuard guard;
  rollout::Group group;
  group.prompt = kIds;
  group.completions.emplace_back().tokens = {0};
  group.completions.back().logprobs = {0};
  const auto batch = train::pack({&group}, {{0, 0}}, {});
  const auto& c = model.config();
  const auto attention = std::make_shared<train::PackedAttention>(
      batch[0], ops::AttentionShape{c.heads, c.kv_heads, c.head_dim}, model.rope_frequencies());
  return model.logits(model.hidden(batch[0].ids, attention));
}

/// Logits that Transformers (and PEFT) compute from the folders.
at::Tensor logits_by_transformers(const fs::path& model, const fs::path& adapter) {
  const std::string command =
      python().string() + " " + (golden::folder() / "model" / "check_transformers_loads.py").string() + " " +
      model.string() + " " + adapter.string() + " --ids 5,9,100,42,7,7,31 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text.push_back(static_cast<char>(c));
  EXPECT_EQ(pclose(pipe), 0);
  const Json answer = value_or_throw(parse_json(text, "Transformers"));
  EXPECT_TRUE(answer["missing"].empty() && answer["unexpected"].empty())
      << answer["missing"] << answer["unexpected"];
  const auto rows = answer["logits"].get<std::vector<std::vector<float>>>();
  at::Tensor logits = at::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())});
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy(rows[i].begin(), rows[i].end(), logits[static_cast<int64_t>(i)].data_ptr<float>());
  return logits;
}

/// The tiny model with weights that no file holds yet.
Transformer changed() {
  const auto source = value_or_throw(checkpoint::Source::open(golden::folder() / "model" / "tiny_grouped"));
  auto model = value_or_throw(Transformer::load(source));
  const at::NoGradGuard guard;
  for (const auto& weight : model.weights()) weight.tensor.mul_(1.1);
  return model;
}

void add_trained_adapter(Transformer& model) {
  value_or_throw(model.add_lora(
      LoraOptions{.rank = 3, .alpha = 12, .target_modules = {"q_proj", "o_proj", "up_proj"}}, 5));
  const at::NoGradGuard guard;
  for (const Parameter& p : model.parameters()) p.tensor.add_(p.tensor.sin().add(0.05), 0.3);
}

TEST(TransformersLoads, FoldersAndAdaptersWithEqualLogits) {
  if (!fs::exists(python())) GTEST_SKIP() << "no Transformers: scripts/setup --peers installs it";
  const fs::path folder = fs::temp_directory_path() / "nereus_transformers_loads";
  fs::remove_all(folder);
  Transformer model = changed();
  value_or_throw(checkpoint::write_model(folder / "model", model.config(), model.weights(),
                                         formats::DType::f32, nullptr));
  EXPECT_LT(golden::relative_error(logits_of(model), logits_by_transformers(folder / "model", "")), 1e-5);

  add_trained_adapter(model);
  value_or_throw(
      checkpoint::write_adapter(folder / "adapter", *model.adapter(), (folder / "model").string()));
  const at::Tensor adapted = logits_of(model);
  EXPECT_GT(golden::relative_error(adapted, logits_of(changed())), 1e-2);
  EXPECT_LT(golden::relative_error(adapted, logits_by_transformers(folder / "model", folder / "adapter")),
            1e-4);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace nereus::model
