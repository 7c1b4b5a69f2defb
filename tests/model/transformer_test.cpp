#include "nereus/model/transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <fstream>
#include <map>

#include "nereus/base/json.h"
#include "nereus/ops/product.h"
#include "nereus/train/policy.h"
#include "tests/golden/golden_file.h"

namespace nereus::model {
namespace {

using golden::File;
using golden::relative_error;

constexpr double kTolerance = 1e-4;

std::filesystem::path model_folder(const std::string& name) {
  return golden::folder() / "model" / name;
}

Transformer load(const std::filesystem::path& path) {
  return value_or_throw(Transformer::load(value_or_throw(checkpoint::Source::open(path))));
}

/// The first `prompt` ids as a prompt and the rest as its completion.
rollout::Group as_group(const std::vector<int32_t>& ids, size_t prompt) {
  rollout::Group group;
  const auto cut = ids.begin() + static_cast<std::ptrdiff_t>(prompt);
  group.prompt.assign(ids.begin(), cut);
  rollout::Completion& completion = group.completions.emplace_back();
  completion.tokens.assign(cut, ids.end());
  completion.logprobs.resize(completion.tokens.size());
  return group;
}

train::PackedBatch pack_all(const rollout::Group& group, bool share = true) {
  std::vector<train::CompletionRef> refs;
  for (size_t i = 0; i < group.completions.size(); ++i) refs.push_back({0, static_cast<int64_t>(i)});
  auto batches = train::pack({&group}, refs, {.max_rows = 1 << 20, .share_prompts = share});
  EXPECT_EQ(batches.size(), 1U);
  return std::move(batches.front());
}

/// Gradients by checkpoint name, cut out of the fused layers.
std::map<std::string, at::Tensor> gradients(const Transformer& model) {
  std::map<std::string, at::Tensor> result;
  std::map<std::string, at::Tensor> fused;
  for (const Parameter& p : model.parameters()) fused[p.name] = p.tensor.grad();
  for (const auto& [name, grad] : fused) result[name] = grad;
  for (size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = model.layers()[i];
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    const std::pair<const char*, const Linear*> linears[] = {
        {"qkv", &layer.qkv}, {"o", &layer.o}, {"gate_up", &layer.gate_up}, {"down", &layer.down}};
    for (const auto& [name, linear] : linears)
      for (const Module& m : linear->modules())
        if (fused.contains(prefix + name + ".weight"))
          result[m.path + ".weight"] = fused[prefix + name + ".weight"].narrow(0, m.out_begin, m.out_rows);
  }
  return result;
}

at::Tensor logits_of(const Transformer& model, const std::vector<int32_t>& ids,
                     const std::shared_ptr<const PackedAdapter>& adapter = nullptr) {
  const at::NoGradGuard guard;
  // As a prompt, so that each of its tokens has a row.
  rollout::Group group = as_group(ids, ids.size());
  group.completions.front().tokens = {0};
  group.completions.front().logprobs = {0};
  const train::PackedBatch whole = pack_all(group);
  const spec::ModelConfig& c = model.config();
  const auto attention = std::make_shared<train::PackedAttention>(
      whole, ops::AttentionShape{c.heads, c.kv_heads, c.head_dim}, model.rope_frequencies());
  if (!adapter) return model.logits(model.hidden(whole.ids, attention));
  const std::vector<AdapterRows> rows{{0, whole.ids.size(0), adapter}};
  return model.logits(model.hidden(whole.ids, *attention, rows));
}

class TinyModel : public testing::TestWithParam<const char*> {};

TEST_P(TinyModel, LogitsEqualTransformers) {
  const File golden(model_folder(GetParam()) / "golden.safetensors");
  const Transformer model = load(model_folder(GetParam()));
  EXPECT_LT(relative_error(logits_of(model, golden.ids("ids")), golden.get("logits")), kTolerance);
}

TEST_P(TinyModel, EveryGradientEqualsTransformers) {
  const File golden(model_folder(GetParam()) / "golden.safetensors");
  for (const bool recompute : {false, true}) {
    Transformer model = load(model_folder(GetParam()));
    model.train_all();
    const train::PackedBatch batch =
        pack_all(as_group(golden.ids("ids"), static_cast<size_t>(golden.get("targets")[0].item<int32_t>())));
    const at::Tensor loss = -train::Policy(model, 1.0F, recompute).forward(batch, false).logprob.mean();
    loss.backward();
    EXPECT_NEAR(loss.item<double>(), golden.get("loss").item<double>(), kTolerance);
    const auto grads = gradients(model);
    int checked = 0;
    for (const std::string& name : golden.names()) {
      if (!name.starts_with("grad.")) continue;
      ASSERT_TRUE(grads.contains(name.substr(5))) << name;
      EXPECT_LT(relative_error(grads.at(name.substr(5)), golden.get(name)), kTolerance)
          << name << " recompute " << recompute;
      ++checked;
    }
    EXPECT_GE(checked, 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Llamas, TinyModel, testing::Values("tiny_grouped", "tiny_tied", "tiny_llama3"));

TEST(Forest, SharedPromptEqualsTransformersOnEachCompletion) {
  const auto folder = model_folder("tiny_grouped");
  const File golden(folder / "forest.safetensors");
  rollout::Group group;
  group.prompt = golden.ids("prompt");
  for (int i = 0; i < 3; ++i) {
    rollout::Completion& c = group.completions.emplace_back();
    c.tokens = golden.ids("completion." + std::to_string(i));
    c.logprobs.resize(c.tokens.size());
  }
  for (const bool share : {true, false}) {
    Transformer model = load(folder);
    model.train_all();
    const train::PackedBatch batch = pack_all(group, share);
    EXPECT_EQ(batch.rows(), share ? 7 + 4 + 0 + 8 : 3 * 7 + 4 + 0 + 8);
    const at::Tensor logprob = train::Policy(model, 1.0F, false).forward(batch, false).logprob;
    int64_t begin = 0;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor expected = golden.get("logprobs." + std::to_string(i));
      EXPECT_LT(relative_error(logprob.narrow(0, begin, expected.size(0)), expected), kTolerance);
      begin += expected.size(0);
    }
    (-logprob.mean()).backward();
    const auto grads = gradients(model);
    for (const std::string& name : golden.names())
      if (name.starts_with("grad.")) {
        EXPECT_LT(relative_error(grads.at(name.substr(5)), golden.get(name)), kTolerance)
            << name << " share " << share;
      }
  }
}

checkpoint::Adapter golden_adapter(const Transformer& model) {
  return value_or_throw(checkpoint::read_adapter(model_folder("lora"), model.config()));
}

TEST(Lora, LogitsGradientsAndMergeEqualPeft) {
  const File golden(model_folder("lora") / "golden.safetensors");
  Transformer model = load(model_folder("tiny_grouped"));
  value_or_throw(model.add_lora(golden_adapter(model)));
  EXPECT_LT(relative_error(logits_of(model, golden.ids("ids")), golden.get("logits")), kTolerance);

  const train::PackedBatch batch =
      pack_all(as_group(golden.ids("ids"), static_cast<size_t>(golden.get("targets")[0].item<int32_t>())));
  (-train::Policy(model, 1.0F, false).forward(batch, false).logprob.mean()).backward();
  int checked = 0;
  for (size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = model.layers()[i];
    for (const Linear* linear : {&layer.qkv, &layer.o, &layer.gate_up, &layer.down})
      for (const ops::LowRankPart& part : linear->low_rank().parts)
        for (const Module& m : linear->modules()) {
          if (m.out_begin != part.out_begin) continue;
          const std::string name = "grad.base_model.model." + m.path;
          const ops::LowRank& low_rank = linear->low_rank();
          EXPECT_LT(relative_error(low_rank.a.grad().narrow(0, part.a_begin, 4),
                                   golden.get(name + ".lora_A.weight")),
                    kTolerance)
              << name;
          EXPECT_LT(relative_error(low_rank.b.grad().narrow(0, part.b_begin, part.out_rows),
                                   golden.get(name + ".lora_B.weight")),
                    kTolerance)
              << name;
          ++checked;
        }
  }
  EXPECT_EQ(checked, 14);

  Transformer merged = load(model_folder("tiny_grouped"));
  const auto weights = merged.weights();
  const auto adapter = golden_adapter(merged);
  for (const auto& weight : weights) value_or_throw(checkpoint::merge_module(weight, adapter));
  EXPECT_LT(relative_error(logits_of(merged, golden.ids("ids")), golden.get("logits")), kTolerance);
}

TEST(Lora, RsLoraScalesAsPeft) {
  const File golden(model_folder("lora") / "golden.safetensors");
  Transformer model = load(model_folder("tiny_grouped"));
  checkpoint::Adapter adapter = golden_adapter(model);
  adapter.rslora = true;
  value_or_throw(model.add_lora(adapter));
  EXPECT_LT(relative_error(logits_of(model, golden.ids("ids")), golden.get("rslora_logits")), kTolerance);
}

TEST(Lora, NewAdapterLeavesTheModelAsItIs) {
  Transformer model = load(model_folder("tiny_grouped"));
  const std::vector<int32_t> ids{1, 2, 3, 4, 5};
  const at::Tensor before = logits_of(model, ids);
  value_or_throw(model.add_lora(LoraOptions{.rank = 4, .alpha = 8}, 7));
  EXPECT_TRUE(logits_of(model, ids).equal(before));
  EXPECT_EQ(model.parameters().size(), 2U * 4 * 2);
}

TEST(Lora, AdapterComesBackAsItWentIn) {
  Transformer model = load(model_folder("tiny_grouped"));
  const checkpoint::Adapter in = golden_adapter(model);
  value_or_throw(model.add_lora(in));
  const auto out = model.adapter();
  ASSERT_TRUE(out);
  ASSERT_EQ(out->modules.size(), in.modules.size());
  for (const auto& [path, pair] : in.modules) {
    EXPECT_TRUE(out->modules.at(path).first.equal(pair.first)) << path;
    EXPECT_TRUE(out->modules.at(path).second.equal(pair.second)) << path;
  }
}

TEST(Lora, BadOptionsAreNamed) {
  Transformer model = load(model_folder("tiny_grouped"));
  LoraOptions options;
  options.target_modules = {"c_attn"};
  EXPECT_NE(model.add_lora(options, 0).error().message.find("c_attn"), std::string::npos);
  options.target_modules = {};
  EXPECT_FALSE(model.add_lora(options, 0));
  EXPECT_FALSE(model.add_lora(LoraOptions{.rank = 0}, 0));
}

TEST(Packed, EqualsPlainWithItsAdapter) {
  Transformer model = load(model_folder("tiny_grouped"));
  value_or_throw(model.add_lora(golden_adapter(model)));
  const std::vector<int32_t> ids{5, 9, 100, 42, 7};
  const at::Tensor plain = logits_of(model, ids);
  const auto adapter = model.packed_adapter();
  const Transformer packed = model.packed(kernels::Element::f32);
  EXPECT_LT(relative_error(logits_of(packed, ids, adapter), plain), 1e-5);
  EXPECT_LT(relative_error(logits_of(model.packed(kernels::Element::bf16), ids, adapter), plain), 3e-2);
  EXPECT_GT(relative_error(logits_of(packed, ids), plain), 1e-2);  // the adapter acts
  // The same adapter straight from its file.
  const auto from_file = value_or_throw(packed.pack_adapter(golden_adapter(model)));
  EXPECT_TRUE(logits_of(packed, ids, from_file).equal(logits_of(packed, ids, adapter)));
}

TEST(Packed, AdapterOfAnotherShapeIsRefused) {
  const Transformer model = load(model_folder("tiny_grouped"));
  checkpoint::Adapter adapter = golden_adapter(model);
  auto& [path, pair] = *adapter.modules.begin();
  pair.first = pair.first.narrow(1, 0, 3);
  const auto packed = model.packed(kernels::Element::f32).pack_adapter(adapter);
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.error().message.find(path), std::string::npos);
}

TEST(Packed, TakesOverWhatTrainingChanged) {
  for (const bool lora : {true, false}) {
    Transformer model = load(model_folder("tiny_tied"));
    if (lora)
      value_or_throw(model.add_lora(LoraOptions{.rank = 4, .alpha = 8}, 7));
    else
      model.train_all();
    Transformer packed = model.packed(kernels::Element::f32);
    const auto before = model.packed_adapter();
    const std::vector<int32_t> ids{5, 9, 100, 42, 7};
    {
      const at::NoGradGuard guard;
      for (Parameter& p : model.parameters()) p.tensor.add_(0.05);
    }
    const at::Tensor plain = logits_of(model, ids);
    EXPECT_GT(relative_error(logits_of(packed, ids, before), plain), 1e-3);  // its own copy until told
    packed.copy_weights(model);
    EXPECT_LT(relative_error(logits_of(packed, ids, model.packed_adapter()), plain), 1e-5);
  }
}

/// Copies of the completion make products of many rows, which take other kernels, and change no mean.
struct SmolLm2Case {
  const char* name;
  size_t copies;
  kernels::Precision precision;
};

class SmolLm2 : public testing::TestWithParam<SmolLm2Case> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(golden::smollm2()))
      GTEST_SKIP() << "no model: scripts/setup --model fetches it";
    ops::set_matmul_precision(GetParam().precision);
  }
  void TearDown() override { ops::set_matmul_precision(kernels::Precision::highest); }
};

TEST_P(SmolLm2, LogitsAndGradientsEqualTransformers) {
  const File golden(model_folder("smollm2") / "logits.safetensors");
  Transformer model = load(golden::smollm2());
  const std::vector<int32_t> ids = golden.ids("ids");
  const at::Tensor logits = logits_of(model, ids);
  const at::Tensor positions = golden.get("positions").to(at::kLong);
  EXPECT_LT(relative_error(logits.index_select(0, positions).narrow(1, 0, 2000), golden.get("logits")),
            kTolerance);
  EXPECT_LT(relative_error(logits.logsumexp(1), golden.get("logsumexp")), kTolerance);

  model.train_all();
  rollout::Group group = as_group(ids, 1);
  group.completions.assign(GetParam().copies, group.completions.front());
  const at::Tensor logprob = train::Policy(model, 1.0F, true).forward(pack_all(group), false).logprob;
  for (const at::Tensor& copy : logprob.chunk(static_cast<int64_t>(GetParam().copies)))
    EXPECT_LT(relative_error(copy, golden.get("logprobs")), kTolerance);
  (-logprob.mean()).backward();
  const auto grads = gradients(model);
  std::ifstream file(model_folder("smollm2") / "gradients.json");
  const Json expected = Json::parse(file);
  EXPECT_EQ(expected.size(), 272U);
  for (const Json& entry : expected) {
    const std::string name = entry["name"];
    ASSERT_TRUE(grads.contains(name)) << name;
    const at::Tensor flat = grads.at(name).contiguous().view(-1);
    EXPECT_NEAR(flat.to(at::kDouble).norm().item<double>() / entry["norm"].get<double>(), 1.0, kTolerance)
        << name;
    for (size_t i = 0; i < entry["index"].size(); ++i)
      EXPECT_NEAR(flat[entry["index"][i].get<int64_t>()].item<double>(), entry["value"][i].get<double>(),
                  kTolerance * entry["largest"].get<double>())
          << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Products, SmolLm2,
                         testing::Values(SmolLm2Case{"few_rows", 1, kernels::Precision::highest},
                                         SmolLm2Case{"many_rows", 8, kernels::Precision::highest},
                                         SmolLm2Case{"many_rows_high", 8, kernels::Precision::high}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace nereus::model
