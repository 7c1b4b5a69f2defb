#include "nereus/spec/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nereus/formats/json_file.h"

namespace nereus::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// tests/golden/checkpoint/make.py: the frequencies of Transformers, plain and with Llama-3's scaling.
TEST(RopeFrequencies, EqualTransformers) {
  const auto cases =
      value_or_throw(formats::read_json_file(NEREUS_SOURCE_DIR "/tests/golden/checkpoint/rope.json"));
  ASSERT_EQ(cases.size(), 3U);
  for (const Json& entry : cases) {
    const auto config = value_or_throw(config_from_json(entry["config"], "rope.json"));
    const auto frequencies = config.rope_frequencies();
    ASSERT_EQ(frequencies.size(), entry["inv_freq"].size());
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const auto expected = entry["inv_freq"][i].get<float>();
      EXPECT_NEAR(frequencies[i], expected, 3e-7 * expected) << i;
    }
  }
}

TEST(AddEosIds, KeepsEachOnce) {
  ModelConfig config;
  add_eos_ids(config, {3, 1});
  add_eos_ids(config, {1, 2});
  EXPECT_THAT(config.eos_ids, ElementsAre(3, 1, 2));
}

TEST(CheckConfig, Bad) {
  const ModelConfig good = {.vocab = 10,
                            .hidden = 8,
                            .intermediate = 8,
                            .layers = 1,
                            .heads = 4,
                            .kv_heads = 2,
                            .head_dim = 2,
                            .context = 8,
                            .eos_ids = {9}};
  EXPECT_TRUE(check_config(good, "t"));
  ModelConfig bad = good;
  bad.kv_heads = 3;
  EXPECT_THAT(check_config(bad, "t").error().message, HasSubstr("t: 4 query heads cannot be shared by 3"));
  bad = good;
  bad.head_dim = 3;
  EXPECT_THAT(check_config(bad, "t").error().message, HasSubstr("head size 3 is odd"));
  bad = good;
  bad.eos_ids = {10};
  EXPECT_THAT(check_config(bad, "t").error().message,
              HasSubstr("end-of-sequence id 10 is outside the vocabulary of 10"));
  bad = good;
  bad.bos_id = 11;
  EXPECT_THAT(check_config(bad, "t").error().message, HasSubstr("beginning-of-sequence id 11"));
  bad = good;
  bad.llama3_rope = true;
  bad.rope_scaling.high_freq_factor = 1;
  EXPECT_THAT(check_config(bad, "t").error().message,
              HasSubstr("high_freq_factor 1 must exceed low_freq_factor 1"));
}

}  // namespace
}  // namespace nereus::spec
