#include "nereus/elastic/unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/elastic/cases.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;
using testing::HasSubstr;

/// Bytes by device.
std::map<int32_t, int64_t> bytes_of(const plan::Job& job, const std::vector<Unit>& units) {
  std::map<int32_t, int64_t> bytes;
  for (const Unit& unit : units) {
    for (const Piece& piece : unit.pieces)
      bytes[piece.device] += piece.box.elements() * element_bytes(job, piece.kind);
  }
  return bytes;
}

// Training state of Llama-3-8B with an optimizer sharded over the data axis, in decimal GB: n (6 + 12 / D)
// bytes, n the parameters of a device (Rajbhandari et al., "ZeRO", SC 2020).
TEST(Unit, BytesOfTrainingLlama) {
  struct Case {
    plan::Layout layout;
    double gigabytes;  // of a device of stage 0
  };
  plan::Job job;
  job.models.push_back({Role::actor, test::llama3_8b(), 0});
  for (const auto& [layout, gigabytes] : std::vector<Case>{
           {{8, 1, 1}, 60.2}, {{4, 1, 2}, 36.1}, {{2, 1, 4}, 24.1}, {{2, 2, 2}, 24.1}, {{8, 4, 2}, 8.5}}) {
    const plan::Plan plan{{test::placement(Role::actor, Stage::train, layout)}};
    const auto units = value_or_throw(units_of(test::a100_cluster(8), job, plan));
    EXPECT_EQ(units.size(), static_cast<size_t>(layout.dp));
    EXPECT_NEAR(static_cast<double>(bytes_of(job, units)[0]) / 1e9, gigabytes, 0.05);
  }
}

TEST(Unit, KindsByStage) {
  plan::Job job;
  job.models.push_back({Role::actor, test::small_model(1, 2, 1, 4, 5), 2});
  const plan::Plan plan{
      {test::placement(Role::actor, Stage::generate, {}), test::placement(Role::actor, Stage::train, {})}};
  const auto units = value_or_throw(units_of(test::small_cluster({1}), job, plan));
  ASSERT_EQ(units.size(), 2U);
  std::map<Kind, int64_t> generate, train;
  for (const Piece& piece : units[0].pieces) generate[piece.kind] += piece.box.elements();
  for (const Piece& piece : units[1].pieces) train[piece.kind] += piece.box.elements();
  EXPECT_EQ(generate.size(), 2U);  // weights and adapter
  EXPECT_EQ(train[Kind::weight], generate[Kind::weight]);
  // Only the adapter has gradients, masters and moments.
  for (const Kind kind :
       {Kind::gradient, Kind::master, Kind::first_moment, Kind::second_moment, Kind::adapter})
    EXPECT_EQ(train[kind], generate[Kind::adapter]) << name_of(kind);
  job.weight_bytes = 4;  // then weights are their own masters
  for (const Unit& unit : value_or_throw(units_of(test::small_cluster({1}), job, plan))) {
    for (const Piece& piece : unit.pieces) EXPECT_NE(piece.kind, Kind::master);
  }
}

TEST(Unit, BoxesAndFlatIntervals) {
  plan::Job job;
  job.models.push_back({Role::actor, test::small_model(1, 2, 1, 4, 5), 0});
  auto placed = test::placement(Role::actor, Stage::train, {2, 1, 1});
  placed.leaves_when_idle = true;
  const auto units = value_or_throw(units_of(test::small_cluster({2}), job, {{placed}}));
  const auto model = model_tensors(job.models[0]);
  int64_t sharded = 0;
  for (const Piece& piece : units[1].pieces) {
    EXPECT_EQ(piece.device, 1);
    EXPECT_EQ(piece.residency, Residency::host);
    const auto& spec = model.tensors[static_cast<size_t>(piece.tensor)].spec;
    EXPECT_EQ(box_of(piece, spec).begin.size(), spec.shape.size());
    if (piece.kind != Kind::master) continue;
    EXPECT_EQ(piece.flat.size(), piece.box.elements());
    sharded += piece.flat.size();
  }
  int64_t all = 0;
  for (const ModelTensor& tensor : model.tensors) all += tensor.spec.elements();
  EXPECT_EQ(sharded, all / 2);
}

TEST(Unit, Bad) {
  plan::Job job;
  job.models.push_back({Role::actor, test::small_model(1, 2, 1, 4, 5), 0});
  const auto cluster = test::small_cluster({2});
  const auto message = [&](const plan::Placement& placed) {
    const auto units = units_of(cluster, job, {{placed}});
    return units ? std::string() : units.error().message;
  };
  auto good = test::placement(Role::actor, Stage::train, {2, 1, 1});
  EXPECT_EQ(message(good), "");
  EXPECT_THAT(message(test::placement(Role::critic, Stage::train, {})),
              HasSubstr("the job has no such model"));
  auto bad = good;
  bad.devices = {0};
  EXPECT_THAT(message(bad), HasSubstr("1 devices for 2 ranks"));
  bad.devices = {0, 2};
  EXPECT_THAT(message(bad), HasSubstr("device 2: the cluster has devices 0 to 1"));
  bad.devices = {1, 1};
  EXPECT_THAT(message(bad), HasSubstr("device 1 has two ranks"));
  bad = good;
  bad.layout.tp = 0;
  EXPECT_THAT(message(bad), HasSubstr("axes of at least 1"));
  bad = good;
  bad.zero = 4;
  EXPECT_THAT(message(bad), HasSubstr("zero from 0 to 3"));
  job.weight_bytes = 0.5;
  EXPECT_THAT(message(good), HasSubstr("weight_bytes = 0.5"));
}

}  // namespace
}  // namespace nereus::elastic
