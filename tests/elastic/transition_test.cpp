#include "nereus/elastic/transition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "tests/elastic/world.h"

namespace nereus::elastic {
namespace {

using plan::Role;
using plan::Stage;
using testing::AllOf;
using testing::HasSubstr;

plan::Job job_of(const spec::ModelConfig& config, int32_t lora_rank = 0) {
  plan::Job job;
  job.models.push_back({Role::actor, config, lora_rank});
  return job;
}

std::string refusal(const Result<Transition>& result) {
  return result ? std::string() : result.error().message;
}

// Scale rollout in the middle of a run [AReaL 606, 1086]: two more replicas at a step boundary take the
// weights from those that are there; nobody else sends, receives or allocates anything.
TEST(Transition, Fault61_RolloutGrowsInTheMiddleOfARun) {
  const auto job = job_of(test::llama3_8b());
  const auto train = test::placement(Role::actor, Stage::train, {2, 1, 8});
  const plan::Plan from{{test::placement(Role::actor, Stage::generate, {2, 1, 4}, 16), train}};
  const plan::Plan to{{test::placement(Role::actor, Stage::generate, {4, 1, 4}, 16), train}};
  const auto result = value_or_throw(make_transition(test::a100_cluster(4), job, from, to));
  EXPECT_EQ(result.to, to) << "replicas that run stay where they are";
  int64_t received = 0;
  for (const Node& node : result.graph().nodes) {
    if (node.action == Action::commit) continue;
    EXPECT_TRUE(node.place >= 24 && node.place < 32) << name_of(node.action) << " at " << node.place;
    if (node.action == Action::transfer) received += node.bytes;
  }
  // Each of the four tensor ranks' parts twice, norms on all ranks; into the machine only once.
  EXPECT_NEAR(static_cast<double>(received), 2 * 2 * 8.030e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(result.cost.network_bytes), 2 * 8.030e9, 0.01e9);
  const auto back = value_or_throw(make_transition(test::a100_cluster(4), job, result.to, from));
  EXPECT_EQ(back.cost.moved_bytes, 0) << "replicas that leave send nothing";
}

// Loading silently drops moments [AReaL 1468]: the set of state is compared, and what the new plan would not
// hold is named.
TEST(Transition, Fault62_StateThatWouldBeDroppedIsNamed) {
  const auto job = job_of(test::small_model(2, 2, 1, 4, 8));
  const plan::Plan both{
      {test::placement(Role::actor, Stage::generate, {}), test::placement(Role::actor, Stage::train, {})}};
  const plan::Plan served{{test::placement(Role::actor, Stage::generate, {})}};
  EXPECT_THAT(refusal(make_transition(test::small_cluster({2}), job, both, served)),
              HasSubstr("the new plan would drop the optimizer state of the actor: 21 tensors from "
                        "model.embed_tokens.weight on"));
  EXPECT_THAT(refusal(make_transition(test::small_cluster({2}), job, both, {})),
              HasSubstr("would drop the weights of the actor"));
}

// Sync needs twice the weights, with the KV pool on top [NeMo-RL 191]: pools go first and come last, and what
// they leave is room for both.
TEST(Transition, Fault57_KvPoolGoesFirstAndComesLast) {
  const auto job = job_of(test::llama3_8b());
  const plan::Plan from{{test::placement(Role::actor, Stage::generate, {1, 1, 2})}};
  const plan::Plan to{{test::placement(Role::actor, Stage::generate, {2, 1, 1})}};
  TransitionOptions options;
  options.kv_before = {69'000'000'000, 69'000'000'000};
  options.kv_after = {61'000'000'000, 61'000'000'000};
  const auto result = value_or_throw(make_transition(test::a100_cluster(1, 2), job, from, to, options));
  int32_t commit = -1, created = 0;
  for (int32_t i = 0; i < result.graph().count(); ++i) {
    const Node& node = result.graph().nodes[static_cast<size_t>(i)];
    if (node.action == Action::commit) commit = i;
    EXPECT_TRUE(node.action != Action::allocate || commit < 0);
    if (node.action != Action::create) continue;
    EXPECT_EQ(node.bytes, 61'000'000'000);
    EXPECT_GE(commit, 0);
    ++created;
  }
  EXPECT_EQ(created, 2);
  for (size_t device = 0; device < 2; ++device)
    EXPECT_LE(result.schedule.peak[device], static_cast<int64_t>(80e9 - 1.5e9));
  options.kv_after = {63'000'000'000, 61'000'000'000};
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(1, 2), job, from, to, options)),
              AllOf(HasSubstr("device 0 (machine m0, A100-80): the new plan holds 79.061 GB there"),
                    HasSubstr("0.628 GB more than")));
}

TEST(Transition, RefusedBeforeAnythingMoves) {
  const auto job = job_of(test::llama3_8b());
  const plan::Plan from{{test::placement(Role::actor, Stage::train, {1, 1, 2})}};
  const plan::Plan to{{test::placement(Role::actor, Stage::train, {2, 1, 1})}};
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(1, 2), job, from, to)),
              AllOf(HasSubstr("device 0 (machine m0, A100-80): the new plan holds 96.363 GB there"),
                    HasSubstr("context and the buffers of a transition")));
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(1, 2), job, to, from)),
              HasSubstr("the old plan holds"));
  TransitionOptions options;
  options.kv_after = {0, 0, 0};
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(1, 2), job, from, from, options)),
              HasSubstr("bytes of 3 devices are given, the cluster has 2"));
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(1, 1), job, from, to)), HasSubstr("device 1"));
}

TEST(Transition, StagesOfOneLayoutShareTheirWeights) {
  const auto job = job_of(test::llama3_8b());
  const auto train = test::placement(Role::actor, Stage::train, {2, 1, 8});
  const plan::Plan from{{train}};
  const plan::Plan to{{test::placement(Role::actor, Stage::infer, {2, 1, 8}), train}};
  const auto result = value_or_throw(make_transition(test::a100_cluster(2), job, from, to));
  EXPECT_TRUE(result.empty());
}

TEST(Transition, AFreshRunReadsTheCheckpointOnceAMachine) {
  const auto job = job_of(test::llama3_8b());
  const plan::Plan to{{test::placement(Role::actor, Stage::generate, {4, 1, 4})}};
  EXPECT_THAT(refusal(make_transition(test::a100_cluster(2), job, {}, to)),
              HasSubstr("a checkpoint is needed"));
  TransitionOptions options;
  options.recovery = Recovery::current;
  const auto result = value_or_throw(make_transition(test::a100_cluster(2), job, {}, to, options));
  int64_t read = 0;
  for (const Node& node : result.graph().nodes) {
    if (node.source == result.places.checkpoint()) read += node.bytes;
  }
  EXPECT_LE(static_cast<double>(read), 2 * 2 * 8.031e9);
  EXPECT_NEAR(result.cost.bound, 8.03, 0.01) << "16 GB by each machine at 2 GB/s";
}

TEST(Transition, RecreatedWeightsAreNotMoved) {
  const auto job = job_of(test::llama3_8b());
  auto from = test::placement(Role::actor, Stage::train, {2, 1, 8}),
       to = test::placement(Role::actor, Stage::train, {2, 1, 8}, 16);
  from.zero = to.zero = 0;
  TransitionOptions options;
  const auto moved = value_or_throw(make_transition(test::a100_cluster(4), job, {{from}}, {{to}}, options));
  options.recreate_weights = true;
  const auto made = value_or_throw(make_transition(test::a100_cluster(4), job, {{from}}, {{to}}, options));
  // 14 bytes a parameter against 12.
  EXPECT_NEAR(static_cast<double>(made.cost.moved_bytes) / static_cast<double>(moved.cost.moved_bytes),
              12.0 / 14, 1e-6);
}

TEST(Transition, SaysWhatItDoes) {
  const auto job = job_of(test::llama3_8b());
  const auto result = value_or_throw(make_transition(
      test::a100_cluster(2), job, {{test::placement(Role::actor, Stage::generate, {1, 1, 8})}},
      {{test::placement(Role::actor, Stage::generate, {2, 1, 8})}}));
  EXPECT_THAT(to_string(result), AllOf(HasSubstr("transfer 0.0"), HasSubstr("GB of it between machines"),
                                       HasSubstr("tightest: device")));
}

// The same inputs give the same graph, so that every rank can derive it alone.
TEST(Transition, Deterministic) {
  test::Dice dice(5);
  const auto cluster = test::random_cluster(dice);
  const auto job = test::random_job(dice);
  const auto from = test::random_plan(cluster, job, dice), to = test::random_plan(cluster, job, dice);
  TransitionOptions options;
  options.messages_in_flight = 0;
  const auto a = value_or_throw(make_transition(cluster, job, from, to, options));
  const auto b = value_or_throw(make_transition(cluster, job, from, to, options));
  ASSERT_EQ(a.graph().count(), b.graph().count());
  EXPECT_EQ(a.graph().before, b.graph().before);
  EXPECT_EQ(a.graph().streams, b.graph().streams);
  for (int32_t i = 0; i < a.graph().count(); ++i) {
    const Node &x = a.graph().nodes[static_cast<size_t>(i)], &y = b.graph().nodes[static_cast<size_t>(i)];
    EXPECT_EQ(std::tie(x.action, x.place, x.source, x.bytes), std::tie(y.action, y.place, y.source, y.bytes));
  }
}

/// No plan can be faster: what each device and each machine must take in by its own links, whatever sources
/// are chosen.
double least_seconds(const cluster::Cluster& cluster, const Transition& result) {
  const Places places(cluster);
  std::vector<double> in(static_cast<size_t>(places.devices())),
      machine_in(static_cast<size_t>(places.machines()));
  for (const Stream& stream : result.cut.streams) {
    std::set<int32_t> machines, holders;
    for (const int32_t place : result.sets[stream.sources]) holders.insert(places.machine(place));
    for (const int32_t place : result.sets[stream.wanted]) {
      in[static_cast<size_t>(place)] += static_cast<double>(stream.bytes);
      if (!holders.contains(places.machine(place))) machines.insert(places.machine(place));
    }
    for (const int32_t machine : machines)
      machine_in[static_cast<size_t>(machine)] += static_cast<double>(stream.bytes);
  }
  double least = 0;
  for (int32_t device = 0; device < places.devices(); ++device) {
    const auto& kind = cluster.kind(device);
    least = std::max(least, in[static_cast<size_t>(device)] / (kind.link_bandwidth + kind.host_bandwidth));
  }
  for (int32_t machine = 0; machine < places.machines(); ++machine) {
    const auto& m = cluster.machines[static_cast<size_t>(machine)];
    least = std::max(least, machine_in[static_cast<size_t>(machine)] /
                                std::min(m.network_bandwidth, m.devices * m.kind.host_bandwidth));
  }
  return least;
}

// Between layouts of 1,024 devices: within a quarter of the busiest endpoint's bytes over its bandwidth, and
// that endpoint not much busier than any plan would make one.
TEST(Transition, NearTheBoundAt1024Devices) {
  struct Case {
    plan::Layout from, to;
    int32_t zero_from, zero_to;
  };
  const auto cluster = test::a100_cluster(128);
  const auto job = job_of(test::llama3_8b());
  for (const auto& [from, to, zero_from, zero_to] : std::vector<Case>{{{128, 1, 8}, {64, 2, 8}, 1, 1},
                                                                      {{128, 1, 8}, {512, 2, 1}, 1, 1},
                                                                      {{64, 4, 4}, {16, 8, 8}, 1, 1},
                                                                      {{32, 4, 8}, {32, 32, 1}, 1, 1},
                                                                      {{16, 16, 4}, {1, 32, 32}, 1, 1},
                                                                      {{128, 2, 4}, {256, 1, 4}, 3, 1}}) {
    auto a = test::placement(Role::actor, Stage::train, from),
         b = test::placement(Role::actor, Stage::train, to);
    a.zero = zero_from;
    b.zero = zero_to;
    TransitionOptions options;
    options.memory_share = 3;  // memory does not bind here
    const auto result = value_or_throw(make_transition(cluster, job, {{a}}, {{b}}, options));
    const std::string text = plan::to_string(a) + " to " + plan::to_string(b);
    EXPECT_LE(result.cost.transfer, 1.25 * result.cost.bound + 1e-3) << text;
    const double least = least_seconds(cluster, result);
    EXPECT_GE(result.cost.bound, 0.999 * least) << text;
    EXPECT_LE(result.cost.transfer, 2 * least + 2e-3) << text;
  }
}

/// The last machine is lost in half of the cases.
std::vector<int32_t> lost_devices(const cluster::Cluster& cluster, test::Dice& dice) {
  std::vector<int32_t> lost;
  if (cluster.machines.size() < 2 || dice.one_in(2)) return lost;
  for (int32_t device = cluster.devices() - cluster.machines.back().devices; device < cluster.devices();
       ++device)
    lost.push_back(device);
  return lost;
}

/// What is refused is as good as endless.
double seconds_of(const Result<double>& result) {
  return result ? *result : std::numeric_limits<double>::infinity();
}

// One maker prices plan after plan as if each were the first, and stops at a limit only where there is one.
TEST(Transition, OneMakerPricesManyPlans) {
  int stopped = 0, back = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    test::Dice dice(seed);
    const auto cluster = test::random_cluster(dice);
    const auto job = test::random_job(dice);
    const auto from = test::random_plan(cluster, job, dice);
    TransitionOptions options;
    options.recovery = Recovery::older;
    options.messages_in_flight = 0;
    options.bundle_bytes = dice.from(1, 600);
    options.lost = lost_devices(cluster, dice);
    TransitionMaker maker(cluster, job, from, options);
    for (int i = 0; i < 6; ++i) {
      const auto to = test::random_plan(cluster, job, dice);
      const auto exact = make_transition(cluster, job, from, to, options);
      const double seconds = exact ? exact->cost.total : std::numeric_limits<double>::infinity();
      if (exact && !exact->stepped_back.empty()) ++back;
      EXPECT_EQ(seconds_of(maker.seconds(to)), seconds) << seed;
      const double half = seconds_of(maker.seconds(to, seconds / 2));
      EXPECT_GE(half, seconds / 2) << seed;
      EXPECT_LE(half, seconds) << seed;
      if (half < seconds) ++stopped;
      EXPECT_EQ(seconds_of(maker.seconds(to, 2 * seconds)), seconds) << seed;
    }
  }
  EXPECT_GT(stopped, 0);
  EXPECT_GT(back, 0);
}

}  // namespace
}  // namespace nereus::elastic
