#include "nereus/checkpoint/adapter.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "nereus/formats/safetensors_writer.h"
#include "tests/checkpoint/golden.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Source base() {
  return value_or_throw(Source::open(test::golden("tiny_sharded")));
}

TEST(ReadAdapter, WhatPeftWrote) {
  const auto adapter = value_or_throw(read_adapter(test::golden("adapter"), base().config()));
  EXPECT_EQ(adapter.rank, 4);
  EXPECT_EQ(adapter.alpha, 8);
  EXPECT_FALSE(adapter.rslora);
  EXPECT_EQ(adapter.scale(), 2);
  EXPECT_EQ(adapter.modules.size(), 14U);
  const auto& [a, b] = adapter.modules.at("model.layers.1.mlp.down_proj");
  EXPECT_EQ(a.sizes(), at::IntArrayRef({4, 256}));
  EXPECT_EQ(b.sizes(), at::IntArrayRef({64, 4}));
}

TEST(ReadAdapter, RsLora) {
  const auto adapter = value_or_throw(read_adapter(test::golden("adapter_rslora"), base().config()));
  EXPECT_TRUE(adapter.rslora);
  EXPECT_EQ(adapter.alpha, 2.5);
  EXPECT_EQ(adapter.scale(), 2.5 / std::sqrt(3.0));
  EXPECT_THAT(adapter.target_modules, testing::UnorderedElementsAre("q_proj", "down_proj"));
  EXPECT_EQ(adapter.modules.size(), 4U);
}

// What PEFT wrote, read and written again: the same bytes of tensors, and the same values under the keys of
// the configuration.
TEST(WriteAdapter, EqualsPeft) {
  for (const char* name : {"adapter", "adapter_rslora"}) {
    const test::ScratchFolder folder;
    const auto adapter = value_or_throw(read_adapter(test::golden(name), base().config()));
    ASSERT_TRUE(write_adapter(folder.path(), adapter, "some/base"));
    const std::string file = "adapter_model.safetensors";
    EXPECT_EQ(value_or_throw(formats::sha256_file(folder / file)),
              value_or_throw(formats::sha256_file(test::golden(name) / file)));
    const auto ours = value_or_throw(formats::read_json_file(folder / "adapter_config.json"));
    const auto theirs = value_or_throw(formats::read_json_file(test::golden(name) / "adapter_config.json"));
    for (const auto& [key, value] : ours.items()) {
      ASSERT_TRUE(theirs.contains(key)) << key;
      EXPECT_EQ(value, key == "base_model_name_or_path" ? Json("some/base") : theirs[key]) << key;
    }
  }
}

TEST(MergeModule, EqualsPeft) {
  for (const char* name : {"adapter", "adapter_rslora"}) {
    const auto source = base();
    auto weights = test::read_all(source);
    const auto before = test::read_all(source);
    const auto adapter = value_or_throw(read_adapter(test::golden(name), source.config()));
    for (const NamedTensor& weight : weights) ASSERT_TRUE(merge_module(weight, adapter)) << weight.name;
    const auto merged =
        value_or_throw(formats::SafetensorsFile::open(test::golden(name) / "merged.safetensors"));
    size_t compared = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const std::string path = weights[i].name.substr(0, weights[i].name.rfind('.'));
      EXPECT_EQ(at::equal(weights[i].tensor, before[i].tensor), !adapter.modules.contains(path)) << path;
      const auto* expected = merged.find(weights[i].name);
      if (expected == nullptr) continue;
      at::Tensor tensor = at::zeros(expected->shape);
      std::memcpy(tensor.data_ptr(), expected->bytes.data(), expected->bytes.size());
      EXPECT_TRUE(at::allclose(weights[i].tensor, tensor, 1e-6, 1e-7)) << weights[i].name;
      ++compared;
    }
    EXPECT_EQ(compared, 4U);
  }
}

TEST(MergeModule, FactorsThatDoNotFitChangeNothing) {
  const auto source = base();
  const auto weights = test::read_all(source), before = test::read_all(source);
  auto adapter = value_or_throw(read_adapter(test::golden("adapter"), source.config()));
  const std::string path = "model.layers.1.mlp.up_proj";
  adapter.modules[path].second = at::zeros({3, 4});
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].name != path + ".weight") continue;
    EXPECT_THAT(merge_module(weights[i], adapter).error().message,
                HasSubstr("adapter module '" + path + "': A and B do not fit the weight"));
    EXPECT_TRUE(at::equal(weights[i].tensor, before[i].tensor));
    return;
  }
  FAIL() << "no " << path;
}

/// PEFT's adapter with the tensors renamed or the configuration changed.
class SpoiltAdapter : public testing::Test {
 protected:
  SpoiltAdapter() { std::filesystem::copy(test::golden("adapter_rslora"), path()); }
  std::filesystem::path path() const { return folder_ / "adapter"; }

  template <class Change>
  void change_tensors(Change change) const {
    const auto file = value_or_throw(
        formats::SafetensorsFile::open(test::golden("adapter_rslora") / "adapter_model.safetensors"));
    auto tensors = file.tensors();
    change(tensors);
    ASSERT_TRUE(formats::write_safetensors(path() / "adapter_model.safetensors", tensors, {}));
  }
  void change_names(const std::string& from, const std::string& to) const {
    change_tensors([&](auto& tensors) {
      for (auto& tensor : tensors) {
        if (const size_t place = tensor.name.find(from); place != std::string::npos)
          tensor.name.replace(place, from.size(), to);
      }
    });
  }
  void change_config(const std::string& key, const Json& value) const {
    Json json =
        value_or_throw(formats::read_json_file(test::golden("adapter_rslora") / "adapter_config.json"));
    json[key] = value;
    ASSERT_TRUE(formats::write_json_file(path() / "adapter_config.json", OrderedJson::parse(json.dump())));
  }
  std::string error() const {
    const auto adapter = read_adapter(path(), base().config());
    return adapter ? "no error" : adapter.error().message;
  }

 private:
  test::ScratchFolder folder_;
};

TEST_F(SpoiltAdapter, Configuration) {
  struct Case {
    const char* key;
    Json value;
    const char* message;
  };
  const Case cases[] = {
      {"peft_type", "IA3", "key 'peft_type': 'IA3' is not supported; expected 'LORA'"},
      {"use_dora", true, "key 'use_dora': true is not supported"},
      {"modules_to_save", Json({"lm_head"}), "key 'modules_to_save': [\"lm_head\"] is not supported"},
      {"rank_pattern", {{"q_proj", 8}}, "key 'rank_pattern': {\"q_proj\":8} is not supported"},
      {"alpha_pattern", {{"q_proj", 8}}, "key 'alpha_pattern'"},
      {"fan_in_fan_out", true, "key 'fan_in_fan_out'"},
      {"bias", "all", "key 'bias': 'all' is not supported; expected 'none'"},
      {"lora_bias", true, "key 'lora_bias'"},
      {"trainable_token_indices", Json({1}), "key 'trainable_token_indices'"},
      {"init_lora_weights", "pissa_niter_4",
       "key 'init_lora_weights': 'pissa_niter_4' is not supported: it changes the base"},
      {"r", 0, "key 'r': expected an integer from 1 to 65536, found 0"},
      {"r", nullptr, "key 'r': missing"},
      {"lora_alpha", "x", "key 'lora_alpha': expected a number above 0, found \"x\""},
      {"target_modules", 3, "key 'target_modules': expected a list of module names"},
      {"r", 5,
       "tensor 'base_model.model.model.layers.0.mlp.down_proj.lora_A.weight' has shape [3, 256]; rank 5 and "
       "the model make it [5, 256]"},
  };
  for (const auto& [key, value, message] : cases) {
    change_config(key, value);
    EXPECT_THAT(error(), HasSubstr(message));
    EXPECT_THAT(error(), HasSubstr(path().string()));
  }
}

TEST_F(SpoiltAdapter, ATargetPatternLeavesTheNamesToTheTensors) {
  change_config("target_modules", ".*(q|down)_proj");
  EXPECT_THAT(value_or_throw(read_adapter(path(), base().config())).target_modules,
              ElementsAre("down_proj", "q_proj"));
}

// PEFT key names break loading [trl 2698]: the variants in use are read, others are named.
TEST_F(SpoiltAdapter, Fault18_VariantsOfPeftNamesAreRead) {
  const auto good = value_or_throw(read_adapter(test::golden("adapter_rslora"), base().config()));
  const std::pair<const char*, const char*> variants[] = {{"base_model.model.", ""},
                                                          {".weight", ".default.weight"}};
  for (const auto& [from, to] : variants) {
    change_names(from, to);
    const auto adapter = value_or_throw(read_adapter(path(), base().config()));
    ASSERT_EQ(adapter.modules.size(), good.modules.size());
    for (const auto& [module, pair] : good.modules) {
      EXPECT_TRUE(at::equal(adapter.modules.at(module).first, pair.first)) << module;
      EXPECT_TRUE(at::equal(adapter.modules.at(module).second, pair.second)) << module;
    }
  }
}

TEST_F(SpoiltAdapter, Fault18_NamesThatMatchNothingAreAnError) {
  change_names("base_model.model.model.", "base_model.model.transformer.");
  EXPECT_THAT(error(), HasSubstr("no module of the adapter is in the model; the first of its 8 tensors is "
                                 "'base_model.model.transformer.layers.0.mlp.down_proj.lora_A.weight'"));
  change_names("layers.1.mlp.down_proj", "layers.7.mlp.down_proj");
  EXPECT_THAT(error(), HasSubstr("the model has no linear layer 'model.layers.7.mlp.down_proj'"));
  change_names("lora_B", "lora_magnitude_vector");
  EXPECT_THAT(
      error(),
      HasSubstr("lora_magnitude_vector.weight' is no LoRA factor of a linear layer; expected names as"));
}

TEST_F(SpoiltAdapter, Tensors) {
  change_tensors([](auto& tensors) { tensors.pop_back(); });
  EXPECT_THAT(error(), HasSubstr("module 'model.layers.1.self_attn.q_proj' lacks lora_B"));
  change_tensors([](auto& tensors) { tensors.clear(); });
  EXPECT_THAT(error(), HasSubstr("no module of the adapter is in the model; the first of its 0 tensors"));
  change_tensors([](auto& tensors) {
    for (auto& t : tensors) t.dtype = formats::DType::i32;
  });
  EXPECT_THAT(error(), HasSubstr("has type I32; expected F32, BF16 or F16"));
  change_tensors([](auto& tensors) {
    tensors.push_back(tensors.front());
    tensors.back().name.replace(tensors.back().name.find(".weight"), 7, ".default.weight");
  });
  EXPECT_THAT(error(), HasSubstr("its module has this factor twice"));
}

TEST_F(SpoiltAdapter, Files) {
  std::filesystem::resize_file(path() / "adapter_model.safetensors", 3000);
  EXPECT_THAT(error(), HasSubstr("adapter_model.safetensors: tensor '"));
  std::filesystem::remove(path() / "adapter_model.safetensors");
  EXPECT_THAT(error(), HasSubstr("adapter_model.safetensors: cannot be opened"));
  std::filesystem::remove(path() / "adapter_config.json");
  EXPECT_THAT(error(), HasSubstr("adapter_config.json: cannot be opened"));
}

// An adapter for a larger model of the same names: shapes are compared, not only names.
TEST_F(SpoiltAdapter, ShapesOfAnotherModel) {
  auto config = base().config();
  config.intermediate = 512;
  const auto adapter = read_adapter(path(), config);
  ASSERT_FALSE(adapter);
  EXPECT_THAT(
      adapter.error().message,
      HasSubstr("down_proj.lora_A.weight' has shape [3, 256]; rank 3 and the model make it [3, 512]"));
}

}  // namespace
}  // namespace nereus::checkpoint
