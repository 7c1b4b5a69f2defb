#include "nereus/checkpoint/source.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nereus/formats/atomic_file.h"
#include "nereus/formats/json_file.h"
#include "nereus/formats/safetensors.h"
#include "nereus/formats/safetensors_writer.h"
#include "tests/checkpoint/golden.h"
#include "tests/formats/scratch_folder.h"

namespace nereus::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Compares every tensor with the checksums of what Transformers reads. A tied head is not read here.
void expect_digests(const Source& source, const Json& expected) {
  size_t checked = 0;
  for (const auto& [name, tensor] : test::read_all(source)) {
    EXPECT_EQ(test::digest(tensor), expected.value(name, "")) << name;
    ++checked;
  }
  EXPECT_EQ(checked, expected.size() - (source.config().tied ? 1 : 0));
}

TEST(Source, ShardsAndBf16EqualTransformers) {
  const auto expected = value_or_throw(formats::read_json_file(test::golden("tiny.json")));
  for (const char* name : {"tiny_sharded", "tiny_bf16"}) {
    const auto source = value_or_throw(Source::open(test::golden(name)));
    EXPECT_EQ(source.gguf(), nullptr);
    EXPECT_EQ(source.path(), test::golden(name));
    EXPECT_THAT(source.config().eos_ids, ElementsAre(2, 5));
    expect_digests(source, expected[name]);
  }
}

// Every type of element that is read, with the rows of q and k put back in order.
TEST(Source, GgufOfAllTypesEqualsTransformers) {
  const auto source = value_or_throw(Source::open(test::golden("tiny.gguf")));
  ASSERT_NE(source.gguf(), nullptr);
  EXPECT_TRUE(source.config().tied);
  expect_digests(source, value_or_throw(formats::read_json_file(test::golden("tiny_gguf.json"))));
}

TEST(Source, SmolLM2EqualsTransformers) {
  if (!std::filesystem::exists(test::smollm2()))
    GTEST_SKIP() << test::smollm2() << " is not there: run scripts/setup";
  const auto source = value_or_throw(Source::open(test::smollm2()));
  EXPECT_EQ(source.config().vocab, 49152);
  EXPECT_EQ(source.config().hidden, 576);
  EXPECT_EQ(source.config().rope_theta, 100000);
  expect_digests(source, value_or_throw(formats::read_json_file(test::golden("smollm2.json"))));
}

TEST(Source, ReadsIntoRowsOfAFusedMatrix) {
  const auto source = value_or_throw(Source::open(test::golden("tiny.gguf")));
  const auto table = spec::tensor_table(source.config());
  const auto& q = table.at(2);
  ASSERT_EQ(q.kind, spec::TensorKind::q);
  at::Tensor fused = at::full({q.shape[0] + 20, q.shape[1]}, 7.0);  // rows: 10 of something else, q, 10 more
  ASSERT_TRUE(source.read_into(q, fused.narrow(0, 10, q.shape[0])));
  EXPECT_TRUE(at::equal(fused.narrow(0, 10, q.shape[0]), value_or_throw(source.read(q))));
  EXPECT_EQ(fused.narrow(0, 0, 10).min().item<float>(), 7);
  EXPECT_EQ(fused.narrow(0, 10 + q.shape[0], 10).min().item<float>(), 7);

  at::Tensor wide = at::full({q.shape[0], q.shape[1] + 6}, 7.0);  // columns: 4, q, 2
  ASSERT_TRUE(source.read_into(q, wide.narrow(1, 4, q.shape[1])));
  EXPECT_TRUE(at::equal(wide.narrow(1, 4, q.shape[1]), value_or_throw(source.read(q))));
  EXPECT_EQ(wide.narrow(1, 0, 4).min().item<float>(), 7);
}

TEST(Source, RefusesADestinationThatDoesNotFit) {
  const auto source = value_or_throw(Source::open(test::golden("tiny_bf16")));
  const auto spec = spec::tensor_table(source.config()).at(1 + 1);
  const auto columns = spec.shape[1];
  const at::Tensor bad[] = {at::Tensor(), at::empty({3, 3}, at::kFloat), at::empty(spec.shape, at::kDouble),
                            at::empty({columns, spec.shape[0]}, at::kFloat).t()};
  for (const at::Tensor& destination : bad) {
    EXPECT_THAT(
        source.read_into(spec, destination).error().message,
        HasSubstr(
            "tensor 'model.layers.0.self_attn.q_proj.weight': the destination must be fp32 on the CPU"));
  }
}

/// A copy of the golden bf16 model to spoil.
class SpoiltFolder : public testing::Test {
 protected:
  SpoiltFolder() { std::filesystem::copy(test::golden("tiny_bf16"), path()); }
  std::filesystem::path path() const { return folder_ / "model"; }

  void expect_error(const std::string& file, const std::string& message) const {
    const auto source = Source::open(path());
    ASSERT_FALSE(source) << message;
    EXPECT_THAT(source.error().message, HasSubstr((path() / file).string()));
    EXPECT_THAT(source.error().message, HasSubstr(message));
  }
  void change_config(const char* key, const Json& value) const {
    Json json = value_or_throw(formats::read_json_file(path() / "config.json"));
    json[key] = value;
    ASSERT_TRUE(formats::write_json_file(path() / "config.json", OrderedJson::parse(json.dump())));
  }
  /// Writes the weights again after a change to their list.
  template <class Change>
  void change_tensors(Change change) const {
    const auto file = value_or_throw(formats::SafetensorsFile::open(path() / "model.safetensors"));
    std::vector<formats::TensorView> tensors = file.tensors();
    change(tensors);
    ASSERT_TRUE(formats::write_safetensors(path() / "model.safetensors", tensors, {}));
  }
  void write(const char* name, std::string_view text) const {
    ASSERT_TRUE(formats::write_file_atomically(path() / name, text));
  }
  void write_index(std::string_view text) const {
    std::filesystem::remove(path() / "model.safetensors");
    write("model.safetensors.index.json", text);
  }

 private:
  test::ScratchFolder folder_;
};

TEST_F(SpoiltFolder, TheCopyIsGood) {
  EXPECT_TRUE(Source::open(path()));
}

TEST_F(SpoiltFolder, NoConfig) {
  std::filesystem::remove(path() / "config.json");
  expect_error("config.json", "cannot be opened: No such file");
}

TEST_F(SpoiltFolder, BrokenConfig) {
  write("config.json", "{\"model_type\": ");
  expect_error("config.json", "not valid JSON");
}

TEST_F(SpoiltFolder, OtherFamily) {
  change_config("model_type", "gpt_neox");
  expect_error("config.json", "family 'gpt_neox' is not supported; supported: llama");
}

TEST_F(SpoiltFolder, BrokenGenerationConfig) {
  write("generation_config.json", R"({"eos_token_id": "x"})");
  expect_error("generation_config.json", "key 'eos_token_id': expected token ids, found \"x\"");
}

TEST_F(SpoiltFolder, NoWeights) {
  std::filesystem::remove(path() / "model.safetensors");
  EXPECT_EQ(Source::open(path()).error().message,
            path().string() + ": no weights: expected model.safetensors or model.safetensors.index.json");
}

TEST_F(SpoiltFolder, TruncatedWeights) {
  const auto file = path() / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  expect_error("model.safetensors", "(truncated?)");
}

TEST_F(SpoiltFolder, MissingTensor) {
  change_tensors([](auto& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.name == "model.layers.1.mlp.up_proj.weight"; });
  });
  expect_error("model.safetensors",
               "tensor 'model.layers.1.mlp.up_proj.weight' is missing; expected shape [256, 64]");
}

TEST_F(SpoiltFolder, AHeadThatIsNotThereThoughUntied) {
  change_tensors([](auto& tensors) {
    std::erase_if(tensors, [](const auto& t) { return t.name == "lm_head.weight"; });
  });
  expect_error("model.safetensors", "tensor 'lm_head.weight' is missing");
}

TEST_F(SpoiltFolder, WrongShape) {
  change_config("intermediate_size", 128);
  expect_error("model.safetensors",
               "tensor 'model.layers.0.mlp.gate_proj.weight' has shape [256, 64]; the configuration makes it "
               "[128, 64]");
}

TEST_F(SpoiltFolder, WrongType) {
  change_tensors([](auto& tensors) {
    for (auto& t : tensors) {
      if (t.name == "model.norm.weight") t.dtype = formats::DType::i16;
    }
  });
  expect_error("model.safetensors",
               "tensor 'model.norm.weight' has type I16; expected one of F32, F16, BF16");
}

TEST_F(SpoiltFolder, ABias) {
  change_tensors([](auto& tensors) {
    for (auto& t : tensors) {
      if (t.name == "lm_head.weight") t.name = "model.layers.0.self_attn.q_proj.bias";
    }
  });
  expect_error("model.safetensors",
               "tensor 'model.layers.0.self_attn.q_proj.bias': biases are not supported");
}

TEST_F(SpoiltFolder, MissingShard) {
  write_index(R"({"weight_map": {"lm_head.weight": "model-00001-of-00002.safetensors"}})");
  expect_error("model-00001-of-00002.safetensors",
               "cannot be opened: No such file or directory (a shard of ");
}

TEST_F(SpoiltFolder, ShardOutsideTheFolder) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", ""}) {
    write_index(Json{{"weight_map", {{"lm_head.weight", name}}}}.dump());
    expect_error("model.safetensors.index.json",
                 "key 'weight_map': tensor 'lm_head.weight': expected a file name");
  }
}

TEST_F(SpoiltFolder, IndexWithoutAMap) {
  write_index("[]");
  expect_error("model.safetensors.index.json", "key 'weight_map': expected an object");
}

TEST_F(SpoiltFolder, TensorIsNotInItsShard) {
  std::filesystem::rename(path() / "model.safetensors", path() / "a.safetensors");
  write_index(R"({"weight_map": {"model.wrong": "a.safetensors"}})");
  expect_error("a.safetensors",
               "tensor 'model.wrong' is missing; " + (path() / "model.safetensors.index.json").string());
}

TEST(Source, NoSuchModel) {
  EXPECT_THAT(Source::open("/nonexistent/m.gguf").error().message,
              HasSubstr("/nonexistent/m.gguf: cannot be opened"));
}

TEST(Source, TruncatedGguf) {
  const test::ScratchFolder folder;
  std::filesystem::copy(test::golden("tiny.gguf"), folder / "t.gguf");
  std::filesystem::resize_file(folder / "t.gguf", 200000);
  EXPECT_THAT(Source::open(folder / "t.gguf").error().message, HasSubstr("t.gguf: tensor '"));
}

}  // namespace
}  // namespace nereus::checkpoint
