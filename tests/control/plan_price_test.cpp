#include "nereus/control/plan_price.h"

#include <gmock/gmock.h>

#include "nereus/plan/known_models.h"
#include "nereus/plan/search.h"

namespace nereus::control {
namespace {

cluster::Cluster two_machines() {
  cluster::Cluster cluster;
  for (const char* name : {"a", "b"}) {
    cluster.machines.push_back({.name = name,
                                .kind = *cluster::known_device("A100-80"),
                                .devices = 8,
                                .host_memory = 1e12,
                                .network_bandwidth = 1e11});
  }
  return cluster;
}

TEST(PlanPrice, IsThePlannersPredictionAtEveryLength) {
  const cluster::Cluster cluster = two_machines();
  const spec::ModelConfig llama = *plan::known_model("llama-3-8b");
  plan::Job job;
  job.models = {{.role = plan::Role::actor, .config = llama},
                {.role = plan::Role::reference, .config = llama}};
  job.lengths = plan::lognormal_lengths(200, 300, 0.6, 4096);
  const auto found = plan::search(cluster, job, {}, {.top = 4}).best;
  ASSERT_GE(found.size(), 2u);
  plan::Calibration calibration;
  calibration.factors[{plan::Operation::decode, ""}] = 1.7;
  calibration.offsets[{plan::Operation::train, ""}] = 3;
  for (const plan::Candidate& candidate : found) {
    const PlanPrice price(cluster, job, candidate.plan);
    for (const double mean : {50.0, 300.0, 1000.0, 3000.0}) {
      plan::Job other = job;
      other.lengths = plan::lognormal_lengths(200, mean, 0.6, 4096);
      for (const plan::Calibration& learned : {plan::Calibration{}, calibration}) {
        const plan::StepTime expected = plan::predict(cluster, other, candidate.plan, learned);
        const plan::StepTime step = price.at(other, learned);
        EXPECT_NEAR(step.total, expected.total, 1e-9 * expected.total) << mean;
        EXPECT_EQ(step.weight_sync, expected.weight_sync);
        for (const plan::StageTime& stage : expected.stages)
          EXPECT_NEAR(step.find(stage.what)->total(), stage.total(), 1e-9 * stage.total())
              << plan::to_string(stage.what);
      }
    }
  }
}

}  // namespace
}  // namespace nereus::control
