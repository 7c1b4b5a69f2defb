#include "nereus/simulator/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "nereus/base/clock.h"
#include "nereus/base/random.h"
#include "nereus/simulator/network.h"
#include "nereus/simulator/timeline.h"
#include "nereus/simulator/transition.h"

namespace nereus::simulator {

namespace {

/// The world's slow change: a walk in the logarithm that is drawn back to 1.
std::vector<double> drift_of(const WorldOptions& world, int64_t steps, uint64_t seed) {
  RandomStream random(seed, 0xd21f7);
  std::vector<double> drift;
  double now = 0;
  for (int64_t i = 0; i < steps; ++i) {
    drift.push_back(std::exp(now));
    now = 0.99 * now + world.drift * random.normal();
  }
  return drift;
}

int32_t devices_used(const plan::Plan& plan) {
  std::vector<int32_t> devices;
  for (const auto& placement : plan.placements)
    devices.insert(devices.end(), placement.devices.begin(), placement.devices.end());
  std::ranges::sort(devices);
  return static_cast<int32_t>(std::ranges::unique(devices).begin() - devices.begin());
}

std::string text_of(const plan::Plan& plan) {
  std::string text;
  for (const auto& placement : plan.placements) {
    if (!text.empty()) text += '\n';
    text += to_string(placement);
  }
  return text;
}

class Run {
 public:
  Run(const Scenario& scenario, Samples& samples, Policy& policy, uint64_t seed)
      : scenario_(scenario),
        world_(scenario.world),
        policy_(policy),
        seed_(seed),
        end_(scenario.hours * 3600),
        samples_(samples),
        universe_(scenario.cluster),
        links_(universe_, world_.link_efficiency, world_.network_efficiency, world_.storage_gb_s * 1e9),
        timeline_(Availability(scenario.availability), scenario.machines(), world_, end_, seed),
        drift_(drift_of(world_, scenario.steps, seed)),
        slowness_(device_slowness(scenario, seed)) {
    outcome_.policy = policy.name();
    outcome_.seed = seed;
  }

  Outcome run() {
    look();
    carry_out(ask([&] { return policy_.begin(view()); }), false);
    while (step_ < scenario_.steps && now_ < end_) {
      if (running_)
        try_step();
      else
        wait();
    }
    outcome_.elapsed = std::min(now_, std::max(end_, 0.0));
    return std::move(outcome_);
  }

 private:
  /// A plan with devices of the universe, and the machines that it needs.
  struct Running {
    plan::Plan plan;
    std::vector<int32_t> machines;
    int32_t devices = 0;  ///< how many it uses
    PlanRun run;
    double weight_sync = 0;  ///< seconds
  };

  View view() const { return {cluster_, now_, step_, scenario_.steps - step_}; }

  /// Time that the policy takes here does not pass in the world: it decides while the job runs.
  template <class Question>
  Answer ask(Question&& question) {
    const SteadyClock clock;
    const Stopwatch watch(clock);
    Answer answer = question();
    outcome_.search_seconds += watch.seconds();
    return answer;
  }

  /// Takes in which machines can be used now.
  bool look() {
    auto usable = timeline_.usable(now_);
    if (usable == there_) return false;
    there_ = std::move(usable);
    cluster_ = some_machines(universe_, there_);
    return true;
  }

  std::vector<int32_t> machines_of(const plan::Plan& plan) const {
    std::set<int32_t> machines;
    const int32_t each = scenario_.machine().devices;
    for (const auto& placement : plan.placements)
      for (const int32_t device : placement.devices) machines.insert(device / each);
    return {machines.begin(), machines.end()};
  }

  void wait() {
    const double next = std::min(timeline_.next_change(now_), end_);
    outcome_.waiting += next - now_;
    now_ = next;
    if (!look() || now_ >= end_) return;
    carry_out(ask([&] { return policy_.devices_changed(view()); }), false);
  }

  void try_step() {
    const Batches batches(samples_.of(step_, seed_));
    Conditions conditions{slowness_, drift_[static_cast<size_t>(step_)], seed_, step_};
    const double slower = std::exchange(first_, false) ? world_.first_step_slowdown : 0;
    conditions.drift *= 1 + slower;
    const auto report = running_->run.step(batches, conditions, running_->weight_sync);
    if (report.out_of_memory) return run_out(report);
    if (const auto loss = timeline_.first_loss(running_->machines, now_, now_ + report.seconds))
      return lose(*loss);
    if (slower > 0 && !outcome_.changes.empty())
      outcome_.changes.back().slower = report.seconds * slower / (1 + slower);
    keep(report, batches.lengths());
  }

  void run_out(const StepReport& report) {
    ++outcome_.out_of_memory;
    waste(report.seconds + world_.restart_seconds);
    look();
    go_back();
    if (++failures_ > kPatience) return stop("runs out of memory again and again");
    const auto answer = ask([&] { return policy_.out_of_memory(view(), *report.out_of_memory); });
    // The job is gone; whatever runs next is read from the checkpoint.
    if (answer.action != Answer::Action::keep) running_.reset();
    carry_out(answer, true);
  }

  void waste(double seconds) {
    outcome_.wasted += seconds;
    now_ += seconds;
  }

  void stop(const std::string& note) {
    outcome_.note = note;
    outcome_.waiting += std::max(0.0, end_ - now_);
    now_ = end_;
  }

  /// A machine is about to go, or has gone: the step is given up as soon as that is known.
  void lose(const Loss& loss) {
    ++outcome_.lost_steps;
    const double known = loss.notice;
    // With enough notice, what only this machine holds is saved before it goes.
    saved_ = saved_ && loss.time - known >= evacuation_seconds(loss);
    waste(std::max(0.0, known - now_));
    look();
    const auto answer = ask([&] { return policy_.devices_changed(view()); });
    carry_out(answer, false);
  }

  double evacuation_seconds(const Loss& loss) const {
    double state = 0;
    for (const auto& model : scenario_.job.models)
      if (model.trained()) {
        const auto size = size_of(model);
        const double whole =
            size.embedding + size.head + static_cast<double>(model.config.layers) * size.layer;
        state += 12 * whole;
      }
    const auto machines = static_cast<double>(running_->machines.size());
    const double share = state * static_cast<double>(loss.machines.size()) / machines;
    const double out = std::min(world_.storage_gb_s * 1e9, scenario_.machine().network_bandwidth *
                                                               world_.network_efficiency *
                                                               static_cast<double>(loss.machines.size()));
    return share / out;
  }

  void keep(const StepReport& report, const StepLengths& lengths) {
    const double start = now_;
    now_ += report.seconds;
    failures_ = 0;
    ++step_;
    ++outcome_.steps;
    outcome_.samples += static_cast<int64_t>(lengths.responses.size());
    outcome_.preempted += report.decoding.preempted;
    add_point(report);
    if (step_ % world_.checkpoint_every == 0) saved_step_ = step_;
    const auto observation = observe(report, start, lengths);
    look();
    carry_out(ask([&] { return policy_.after_step(view(), observation); }), false);
  }

  void add_point(const StepReport& report) {
    StepPoint point{now_, step_ - 1, report.seconds, 0, 0, 0, running_->devices, 0};
    double generated = report.weight_sync, scored = 0;
    for (const auto& stage : report.stages) {
      if (stage.what.stage == plan::Stage::generate) generated = stage.end;
      if (stage.what.stage == plan::Stage::infer) scored = std::max(scored, stage.end);
    }
    point.generate = generated;
    point.infer = std::max(0.0, scored - generated);
    point.train = report.seconds - point.generate - point.infer;
    const double memory = scenario_.machine().kind.memory;
    point.memory = *std::ranges::max_element(report.peaks) / memory;
    outcome_.points.push_back(point);
  }

  /// What a real job would report, devices numbered as in the last view.
  control::Observation observe(const StepReport& report, double start, const StepLengths& lengths) const {
    control::Observation seen;
    seen.step = step_ - 1;
    seen.steps_left = scenario_.steps - step_;
    seen.now = now_;
    seen.seconds = report.seconds;
    seen.transition = last_transition_;
    for (const auto& stage : report.stages)
      seen.stages.push_back({stage.what, start + stage.start, start + stage.end, {}});
    seen.lengths = {0, lengths.responses, scenario_.job.lengths.max_response};
    std::ranges::sort(seen.lengths.responses);
    double prompts = 0;
    for (const int32_t prompt : lengths.prompts) prompts += prompt;
    seen.lengths.prompt = std::llround(prompts / static_cast<double>(lengths.prompts.size()));
    const int32_t each = scenario_.machine().devices;
    for (size_t m = 0; m < there_.size(); ++m)
      for (int32_t i = 0; i < each; ++i) {
        const double peak = report.peaks[static_cast<size_t>(there_[m] * each + i)];
        const auto device = static_cast<int32_t>(m) * each + i;
        if (peak > 0) seen.memory.push_back({device, peak, scenario_.machine().kind.memory});
      }
    return seen;
  }

  void carry_out(const Answer& answer, bool again) {
    last_transition_ = 0;
    const bool keeps = answer.action == Answer::Action::keep;
    if (answer.action == Answer::Action::wait || (keeps && (!running_ || !all_there(*running_))))
      return pause(answer.reason);
    if (keeps && !again) return;
    const auto plan =
        answer.action == Answer::Action::keep ? running_->plan : in_whole(answer.plan, universe_, there_);
    if (!again && running_ && plan == running_->plan) return;
    change(plan, answer, again);
  }

  void pause(const std::string& reason) {
    if (outcome_.steps == 0 && outcome_.note.empty()) outcome_.note = reason;
    if (running_) last_ = std::move(running_);
    running_.reset();
  }

  void change(const plan::Plan& plan, const Answer& answer, bool again) {
    const Running* from = running_ ? &*running_ : last_ ? &*last_ : nullptr;
    TransitionCase transfer{
        from == nullptr || again || policy_.restarts() ? nullptr : &from->plan, &plan, {}, again};
    if (transfer.from != nullptr) transfer.lost = lost_devices(*from);
    auto report = transition(world_, links_, scenario_.job, transfer);
    const bool crashed = from != nullptr && policy_.restarts() && !all_there(*from) && !saved_;
    if (report.state_lost && !saved_) {
      transfer.from_storage = true;
      report = transition(world_, links_, scenario_.job, transfer);
      go_back();
    } else if (crashed) {
      go_back();
    }
    if (from != nullptr && policy_.restarts()) report.seconds += world_.restart_seconds;
    const int32_t devices = devices_used(plan);
    ChangePoint point{now_,          step_,         report.seconds, 0,
                      report.moved,  report.stored, devices,        from != nullptr && !all_there(*from),
                      text_of(plan), answer.reason};
    now_ += report.seconds;
    if (from == nullptr && !again) {
      outcome_.starting += report.seconds;
      outcome_.first_plan = point.plan;
    } else {
      outcome_.changes.push_back(std::move(point));
    }
    last_transition_ = report.seconds;
    first_ = from != nullptr;
    saved_ = true;
    last_.reset();
    auto machines = machines_of(plan);
    PlanRun run(world_, universe_, scenario_.job, plan);
    const double sync = run.weight_sync();
    running_.emplace(Running{plan, std::move(machines), devices, std::move(run), sync});
  }

  std::vector<bool> lost_devices(const Running& from) const {
    std::vector<bool> lost(static_cast<size_t>(universe_.devices()), false);
    for (const auto& placement : from.plan.placements)
      for (const int32_t device : placement.devices)
        if (!std::ranges::binary_search(there_, device / scenario_.machine().devices))
          lost[static_cast<size_t>(device)] = true;
    return lost;
  }

  bool all_there(const Running& running) const { return std::ranges::includes(there_, running.machines); }

  /// To the last checkpoint: the steps since then are done again.
  void go_back() {
    while (step_ > saved_step_) {
      --step_;
      --outcome_.steps;
      outcome_.samples -= scenario_.job.samples();
      outcome_.wasted += outcome_.points.back().seconds;
      outcome_.points.pop_back();
    }
  }

  static constexpr int kPatience = 5;

  const Scenario& scenario_;
  const WorldOptions& world_;
  Policy& policy_;
  uint64_t seed_;
  double end_;
  Samples& samples_;
  cluster::Cluster universe_, cluster_;
  Links links_;
  Timeline timeline_;
  std::vector<double> drift_, slowness_;
  std::vector<int32_t> there_;             ///< machines of cluster_
  std::optional<Running> running_, last_;  ///< last_: what ran before it had to wait
  Outcome outcome_;
  double now_ = 0, last_transition_ = 0;
  int64_t step_ = 0, saved_step_ = 0;
  bool first_ = false;  ///< the coming step is the first after a change
  bool saved_ = true;   ///< what lost machines held was saved before they went
  int failures_ = 0;
};

}  // namespace

std::vector<double> device_slowness(const Scenario& scenario, uint64_t seed) {
  RandomStream random(seed, 0xde71ce);
  std::vector<double> slowness;
  for (int32_t i = 0; i < scenario.cluster.devices(); ++i)
    slowness.push_back(std::exp(scenario.world.device_spread * random.normal()));
  return slowness;
}

Outcome simulate(const Scenario& scenario, Samples& samples, Policy& policy, uint64_t seed) {
  return Run(scenario, samples, policy, seed).run();
}

std::vector<DevicePoint> devices_over_time(const Scenario& scenario, uint64_t seed, double end) {
  const Timeline timeline(Availability(scenario.availability), scenario.machines(), scenario.world,
                          scenario.hours * 3600, seed);
  std::vector<DevicePoint> points;
  for (double time = 0; time < end; time = timeline.next_change(time)) {
    const auto devices = static_cast<int32_t>(timeline.usable(time).size()) * scenario.machine().devices;
    if (points.empty() || points.back().devices != devices) points.push_back({time, devices});
  }
  return points;
}

}  // namespace nereus::simulator
