#include "nereus/control/layer_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nereus/base/json.h"
#include "nereus/plan/known_models.h"

namespace nereus::control {
namespace {

using testing::HasSubstr;

constexpr int64_t kSequence = 8192;

/// {micro-batch: {tp: {layer: [forward, backward, update]}}}.
std::vector<LayerProfile> read_profiles(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::vector<LayerProfile> profiles;
  const Json json = value_or_throw(parse_json(text.str(), path.string()));
  for (const auto& [micro_batch, sizes] : json.items()) {
    for (const auto& [tp, layers] : sizes.items()) {
      LayerProfile profile{
          .sequence = kSequence, .micro_batch = std::stoi(micro_batch), .tp = std::stoi(tp), .layers = {}};
      profile.layers.resize(layers.size());
      for (const auto& [layer, times] : layers.items())
        profile.layers[std::stoul(layer)] = {times[0].get<double>(), times[1].get<double>(),
                                             times[2].get<double>()};
      profiles.push_back(std::move(profile));
    }
  }
  return profiles;
}

struct Errors {
  double sum = 0;
  int count = 0;

  void add(double predicted, double measured) {
    if (measured < 1e-5) return;  // below what the profile resolves; 0 was not measured
    sum += std::abs(predicted / measured - 1);
    ++count;
  }
  double mean() const { return sum / count; }
};

// Of all layers of all profiles but the one that `model` was fitted to.
Errors errors_of(const LayerModel& model, const std::vector<LayerProfile>& profiles,
                 const LayerProfile& fitted, std::array<Errors, kLayerKinds>& by_kind) {
  Errors all;
  for (const LayerProfile& profile : profiles) {
    if (&profile == &fitted) continue;
    for (size_t i = 0; i < profile.layers.size(); ++i) {
      const LayerKind kind = kind_of_layer(i, profile.layers.size());
      const LayerSeconds predicted = model.seconds(kind, profile.micro_batch, profile.tp),
                         &measured = profile.layers[i];
      for (Errors* errors : {&all, &by_kind[static_cast<size_t>(kind)]}) {
        errors->add(predicted.forward, measured.forward);
        errors->add(predicted.backward, measured.backward);
        errors->add(predicted.update, measured.update);
      }
    }
  }
  return all;
}

// GH200 with 96 GB: an H100 with faster memory.
cluster::DeviceKind gh200() {
  cluster::DeviceKind kind = *cluster::known_device("H100");
  kind.memory = 96e9, kind.memory_bandwidth = 4e12;
  return kind;
}

TEST(LayerModel, OneMeasuredEntryPredictsTheOthers) {
  const auto config = plan::known_model("llama-3-8b");
  ASSERT_TRUE(config && cluster::known_device("V100-16"));
  for (const auto& [name, device] :
       {std::pair{"GH-96", gh200()}, std::pair{"V100-16", *cluster::known_device("V100-16")}}) {
    const std::string path =
        std::string(NEREUS_SOURCE_DIR "/../shared/data/profiles/sailor-llama-3-8b-") + name + ".json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
    const std::vector<LayerProfile> profiles = read_profiles(path);
    ASSERT_GE(profiles.size(), 2u);
    for (const LayerProfile& fitted : profiles) {
      const LayerModel model = value_or_throw(LayerModel::fit(*config, device, fitted));
      std::array<Errors, kLayerKinds> kinds;
      const Errors all = errors_of(model, profiles, fitted, kinds);
      std::printf(
          "%s fitted to micro-batch %d, tp %d: mean error %.1f %% (embedding %.0f, layers %.1f, norm %.1f, "
          "head %.1f)\n",
          name, fitted.micro_batch, fitted.tp, 100 * all.mean(), 100 * kinds[0].mean(), 100 * kinds[1].mean(),
          100 * kinds[2].mean(), 100 * kinds[3].mean());
      EXPECT_LE(all.mean(), 0.12) << name << " " << fitted.micro_batch << " " << fitted.tp;
      EXPECT_LE(kinds[1].mean(), 0.12) << name << " " << fitted.micro_batch << " " << fitted.tp;
    }
  }
}

spec::ModelConfig two_layers() {
  return {.vocab = 1000,
          .hidden = 64,
          .intermediate = 128,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16};
}

LayerProfile measured() {
  return {.sequence = 128,
          .micro_batch = 1,
          .tp = 1,
          .layers = std::vector<LayerSeconds>(5, {0.01, 0.02, 0.004})};
}

cluster::DeviceKind slow_device() {
  return {.name = "slow", .memory = 1e9, .flops = 1e10, .memory_bandwidth = 1e8, .link_bandwidth = 1e6};
}

TEST(LayerModel, GivesBackWhatItWasFittedTo) {
  const LayerModel model = value_or_throw(LayerModel::fit(two_layers(), slow_device(), measured()));
  for (const LayerKind kind : {LayerKind::embedding, LayerKind::layer, LayerKind::norm, LayerKind::head}) {
    const LayerSeconds seconds = model.seconds(kind, 1, 1);
    EXPECT_NEAR(seconds.forward, 0.01, 1e-12);
    EXPECT_NEAR(seconds.backward, 0.02, 1e-12);
    EXPECT_NEAR(seconds.update, 0.004, 1e-12);
  }
}

TEST(LayerModel, TensorSizeDividesWorkAndAddsCommunication) {
  const LayerModel model = value_or_throw(LayerModel::fit(two_layers(), slow_device(), measured()));
  EXPECT_NEAR(model.seconds(LayerKind::head, 1, 2).forward, 0.005, 1e-12);
  EXPECT_NEAR(model.seconds(LayerKind::norm, 2, 2).forward, 0.02, 1e-12);
  EXPECT_NEAR(model.seconds(LayerKind::layer, 1, 2).update, 0.002, 1e-12);
  // Two all-reduces of 128 * 64 * 2 bytes over 0.4 MB/s.
  EXPECT_GT(model.seconds(LayerKind::layer, 1, 2).forward, 2 * 16384 / 0.4e6);
}

TEST(LayerModel, SetsTheEfficienciesThatWereMeasured) {
  const LayerModel model = value_or_throw(LayerModel::fit(two_layers(), slow_device(), measured()));
  const plan::Calibration calibration = model.calibration({});
  const double flops = 2.0 * 128 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128) + 2.0 * 128 * 128 * 64;
  EXPECT_NEAR(calibration.infer_efficiency, flops / 1e10 / 0.01, 1e-6);
  EXPECT_NEAR(calibration.train_efficiency, 3 * flops / 1e10 / 0.03, 1e-6);
}

TEST(LayerModel, RefusesWhatDoesNotBelongToTheModel) {
  LayerProfile profile = measured();
  profile.layers.pop_back();
  EXPECT_THAT(LayerModel::fit(two_layers(), slow_device(), profile).error().message,
              HasSubstr("4 layers: expected 5"));
  profile = measured();
  profile.tp = 0;
  EXPECT_THAT(LayerModel::fit(two_layers(), slow_device(), profile).error().message, HasSubstr("tp 0"));
  profile = measured();
  for (LayerSeconds& layer : profile.layers) layer.forward = 0;
  EXPECT_FALSE(LayerModel::fit(two_layers(), slow_device(), profile));
}

}  // namespace
}  // namespace nereus::control
