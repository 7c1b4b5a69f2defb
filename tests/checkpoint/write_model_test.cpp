#include "nereus/checkpoint/write_model.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/checkpoint/init_model.h"
#include "nereus/checkpoint/to_dtype.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "tests/checkpoint/golden.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::checkpoint {
namespace {

using formats::DType;
using testing::HasSubstr;

spec::ModelConfig config(bool tied) {
  return {.vocab = 40,
          .hidden = 16,
          .intermediate = 24,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .context = 32,
          .tied = tied,
          .bos_id = 1,
          .eos_ids = {2, 3}};
}

void expect_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& tensors, DType dtype) {
  const auto source = value_or_throw(Source::open(folder));
  const auto read = test::read_all(source);
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(read[i].name, tensors[i].name);
    EXPECT_TRUE(at::equal(read[i].tensor, to_dtype(tensors[i].tensor, dtype).to(at::kFloat))) << read[i].name;
  }
}

TEST(WriteModel, ReadBackEqualInEachType) {
  for (const bool tied : {false, true}) {
    const auto tensors = init_model(config(tied), 3);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const test::ScratchFolder folder;
      ASSERT_TRUE(write_model(folder / "new/model", config(tied), tensors, dtype, nullptr));
      expect_model(folder / "new/model", tensors, dtype);
      const auto json = value_or_throw(formats::read_json_file(folder / "new/model/config.json"));
      EXPECT_EQ(json["tie_word_embeddings"], tied);
      EXPECT_EQ(json["eos_token_id"], Json({2, 3}));
    }
  }
}

TEST(WriteModel, ShardsWithAnIndex) {
  const test::ScratchFolder folder;
  const auto tensors = init_model(config(false), 3);
  ASSERT_TRUE(write_model(folder.path(), config(false), tensors, DType::f32, nullptr, 6000));
  const auto index = value_or_throw(formats::read_json_file(folder / "model.safetensors.index.json"));
  int64_t elements = 0;
  for (const auto& [name, tensor] : tensors) {
    elements += tensor.numel();
    const auto shard = index["weight_map"].value(name, "");
    const auto file = value_or_throw(formats::SafetensorsFile::open(folder / shard));
    EXPECT_NE(file.find(name), nullptr) << name;
    EXPECT_LE(file.tensors().size() == 1 ? 0 : std::filesystem::file_size(folder / shard), 6000U + 2000U)
        << shard;
  }
  EXPECT_EQ(index["metadata"]["total_size"], 4 * elements);
  EXPECT_TRUE(std::filesystem::exists(folder / "model-00001-of-00005.safetensors"));
  expect_model(folder.path(), tensors, DType::f32);
}

TEST(WriteModel, AnEarlierModelInTheFolderDoesNotShineThrough) {
  const test::ScratchFolder folder;
  const auto first = init_model(config(false), 1), second = init_model(config(false), 2);
  ASSERT_TRUE(write_model(folder.path(), config(false), first, DType::f32, nullptr));
  ASSERT_TRUE(write_model(folder.path(), config(false), second, DType::f32, nullptr, 6000));
  expect_model(folder.path(), second, DType::f32);
  ASSERT_TRUE(write_model(folder.path(), config(false), first, DType::f32, nullptr));
  expect_model(folder.path(), first, DType::f32);
  EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors.index.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "model-00001-of-00005.safetensors"));
}

TEST(WriteModel, Bad) {
  const test::ScratchFolder folder;
  const auto good = init_model(config(false), 1);
  const auto error = [&](const std::vector<NamedTensor>& tensors, DType dtype = DType::f32) {
    const auto written = write_model(folder / "m", config(false), tensors, dtype, nullptr);
    EXPECT_FALSE(std::filesystem::exists(folder / "m/config.json"));
    return written ? std::string() : written.error().message;
  };
  auto missing = good;
  missing.pop_back();
  EXPECT_THAT(error(missing), HasSubstr("m: tensor 'lm_head.weight' of the model is not given"));
  auto twice = good;
  twice.push_back(good.front());
  EXPECT_THAT(error(twice), HasSubstr("tensor 'model.embed_tokens.weight' is given twice"));
  auto extra = good;
  extra.push_back({"model.extra", at::zeros({1})});
  EXPECT_THAT(error(extra), HasSubstr("tensor 'model.extra' is no tensor of the model"));
  auto shape = good;
  shape.front().tensor = at::zeros({40, 17});
  EXPECT_THAT(
      error(shape),
      HasSubstr(
          "tensor 'model.embed_tokens.weight' has shape [40, 17]; the configuration makes it [40, 16]"));
  EXPECT_THAT(error(good, DType::q8_0),
              HasSubstr("weights cannot be written as Q8_0; expected F32, BF16 or F16"));
  const auto nowhere = write_model("/proc/nowhere", config(false), good, DType::f32, nullptr);
  EXPECT_THAT(nowhere.error().message, HasSubstr("/proc/nowhere: cannot be created"));
}

TEST(WriteModel, ConvertsAGgufFileWithItsTokenizer) {
  const test::ScratchFolder folder;
  const auto source = value_or_throw(Source::open(test::golden("tiny.gguf")));
  const auto tensors = test::read_all(source);
  ASSERT_TRUE(write_model(folder / "a", source.config(), tensors, DType::f32, &source));
  expect_model(folder / "a", tensors, DType::f32);
  const auto copy = value_or_throw(Source::open(folder / "a"));
  ASSERT_TRUE(write_model(folder / "b", copy.config(), tensors, DType::bf16, &copy));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_EQ(value_or_throw(formats::sha256_file((folder / "a") / name)),
              value_or_throw(formats::sha256_file((folder / "b") / name)));
  }
  ASSERT_TRUE(write_model(folder / "b", copy.config(), tensors, DType::f32, &copy)) << "onto itself";
}

}  // namespace
}  // namespace nereus::checkpoint
