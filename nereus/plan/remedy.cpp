#include "nereus/plan/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "nereus/plan/work.h"

namespace nereus::plan {
namespace {

/// A changed job or plan, and how the change is said.
struct Change {
  std::string kind;  ///< of changes of one kind the first that helps is told
  std::string words;
  Job job;
  Plan plan;
};

/// Collects the changes that concern the placement that ran out of memory. Not thread-safe.
class Changes {
 public:
  Changes(const Job& job, const Plan& plan, const DevicePeak& worst)
      : job_(job), plan_(plan), worst_(worst) {}

  std::vector<Change> all() {
    const Placement& running = *plan_.find(worst_.stage);
    if (job_.logit_chunk == 0 && worst_.ledger[Component::logits] > 0) {
      add("logits", "chunk the logits").job.logit_chunk = 1024;
    }
    if (running.what.stage == Stage::train && !running.recompute)
      change("recompute", "recompute activations").recompute = true;
    if (running.what.stage != Stage::generate) smaller_micro_batches(running);
    for (int32_t zero = running.zero + 1; shards(running) && zero <= 3; ++zero)
      change("zero", fmt::format("take zero {}", zero)).zero = zero;
    others_leave();
    wider(running);
    return std::move(changes_);
  }

 private:
  static bool shards(const Placement& running) {
    return running.what.stage == Stage::train && running.layout.dp > 1;
  }

  Change& add(std::string kind, std::string words) {
    return changes_.emplace_back(Change{std::move(kind), std::move(words), job_, plan_});
  }

  Placement& placement_of(Change& change, ModelStage what) {
    return *std::find_if(change.plan.placements.begin(), change.plan.placements.end(),
                         [&](const Placement& p) { return p.what == what; });
  }

  Placement& change(std::string kind, std::string words) {
    return placement_of(add(std::move(kind), std::move(words)), worst_.stage);
  }

  void smaller_micro_batches(const Placement& running) {
    for (int32_t size = running.micro_batch / 2; size >= 1; size /= 2)
      change("micro-batch", fmt::format("take micro-batches of {}", size)).micro_batch = size;
  }

  void others_leave() {
    for (const Placement& other : plan_.placements) {
      if (other.what == worst_.stage || other.leaves_when_idle) continue;
      Change& leaving = add("leave", fmt::format("let {} leave the device when idle", to_string(other.what)));
      placement_of(leaving, other.what).leaves_when_idle = true;
    }
  }

  void wider(const Placement& running) {
    const spec::ModelConfig& config = job_.find(running.what.role)->config;
    if (running.layout.dp % 2 != 0) return;
    if (config.heads % (2 * running.layout.tp) == 0) {
      Layout& layout = change("tp", fmt::format("take tp = {}", 2 * running.layout.tp)).layout;
      layout = {layout.dp / 2, layout.pp, layout.tp * 2};
    }
    if (2 * running.layout.pp <= config.layers) {
      Layout& layout = change("pp", fmt::format("take pp = {}", 2 * running.layout.pp)).layout;
      layout = {layout.dp / 2, layout.pp * 2, layout.tp};
    }
  }

  const Job& job_;
  const Plan& plan_;
  const DevicePeak& worst_;
  std::vector<Change> changes_;
};

}  // namespace

DevicePeak tightest(const std::vector<DevicePeak>& moments) {
  return *std::min_element(moments.begin(), moments.end(),
                           [](const DevicePeak& a, const DevicePeak& b) { return a.free() < b.free(); });
}

std::string remedy(const cluster::Cluster& cluster, const Job& job, const Plan& plan,
                   const DevicePeak& worst) {
  std::vector<std::string> found;
  std::string words;
  for (const Change& change : Changes(job, plan, worst).all()) {
    if (std::find(found.begin(), found.end(), change.kind) != found.end()) continue;
    if (!fits(cluster, change.job, change.plan)) continue;
    words += (found.empty() ? "" : " or ") + change.words;
    found.push_back(change.kind);
    if (found.size() == 2) break;
  }
  return words.empty() ? "no single change is enough: more devices, or several changes at once" : words;
}

}  // namespace nereus::plan
