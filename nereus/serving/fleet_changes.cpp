// What a fleet changes on all of its servers: publish, withdraw, pause, resume.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "nereus/serving/canary.h"
#include "nereus/serving/fleet.h"

namespace nereus::serving {

namespace {

constexpr double kTurnPause = 0.01;  // between looks whether another change has ended

bool is_ok(const Backend&, const http::Response& answer) {
  return answer.status == 200;
}

}  // namespace

http::Task<bool> Fleet::begin_change() {
  // No lock is held while waiting, and what is waited for ends: each of its calls has a deadline.
  const double until = clock_.now() + 4 * options_.load_seconds;
  while (changing_ && clock_.now() < until)
    if (!co_await loop_.sleep(kTurnPause)) co_return false;
  if (changing_) co_return false;
  changing_ = true;
  co_return true;
}

http::Task<Fleet::Outcome> Fleet::ask(size_t index, const Ask& request, const Accepts& accepts) {
  Backend& backend = *backends_[index];
  auto asked = request(backend);
  if (!asked) co_return Outcome{index, Outcome::Kind::refused, "this kind of server cannot do it"};
  const auto answer = co_await call(backend, std::move(*asked), options_.load_seconds);
  if (!answer) co_return Outcome{index, Outcome::Kind::silent, answer.error().message};
  if (!accepts(backend, *answer)) co_return Outcome{index, Outcome::Kind::refused, answer->brief()};
  co_return Outcome{index};
}

http::Task<std::vector<Fleet::Outcome>> Fleet::ask_all(const std::vector<size_t>& targets, const Ask& request,
                                                       const Accepts& accepts) {
  std::vector<http::Task<Outcome>> tasks;
  for (const size_t target : targets) tasks.push_back(ask(target, request, accepts));
  co_return co_await http::when_all(loop_, std::move(tasks));
}

http::Task<Status> Fleet::change_all(std::string what, Ask request, Accepts accepts, Ask undo) {
  std::vector<size_t> targets = serving();
  if (targets.empty()) co_return fail("{}: no server serves", what);
  const auto outcomes = co_await ask_all(targets, request, accepts);
  using Kind = Outcome::Kind;
  const auto refused = std::ranges::find(outcomes, Kind::refused, &Outcome::kind);
  size_t done = 0;
  for (const auto& outcome : outcomes) {
    if (outcome.kind == Kind::done) ++done;
    // It may or may not have done it: it is compared before it serves again.
    if (outcome.kind == Kind::silent)
      apply(*backends_[outcome.backend], BackendEvent::failed, outcome.reason);
  }
  if (refused == outcomes.end() && done > 0) co_return Status{};
  if (refused == outcomes.end()) co_return fail("{}: {}", what, outcomes.front().reason);
  std::vector<size_t> undone;
  for (const auto& outcome : outcomes)
    if (outcome.kind == Kind::done) undone.push_back(outcome.backend);
  ++counts_.undone;
  const Accepts always = [](const Backend&, const http::Response&) { return true; };
  for (const auto& outcome : co_await ask_all(undone, undo, always))
    if (outcome.kind == Kind::silent)
      apply(*backends_[outcome.backend], BackendEvent::failed, outcome.reason);
  co_return fail("{}: {} refused: {} (undone on {} other servers)", what, backends_[refused->backend]->name(),
                 refused->reason, undone.size());
}

http::Task<Status> Fleet::publish(std::string adapter, std::string path, bool in_place) {
  if (!co_await begin_change()) co_return fail("{}: another change does not end", adapter);
  auto status = co_await publish_now(adapter, path, in_place);
  end_change();
  co_return status;
}

Status Fleet::may_publish(const std::string& adapter, const std::string& path, bool in_place) const {
  const auto found = adapters_.find(adapter);
  if (found != adapters_.end() && found->second != path && !in_place)
    return fail("{}: is published already, from {}: names carry the version, so a new one is needed", adapter,
                found->second);
  if (found != adapters_.end() && found->second == path && in_place)
    return fail(
        "{}: is published from {} already; what that folder held before could not be put back, so "
        "each version needs a folder of its own",
        adapter, path);
  if (leaving_.contains(adapter)) return fail("{}: is being unloaded", adapter);
  if (found == adapters_.end() && adapters_.size() + leaving_.size() >= options_.adapter_slots)
    return fail("{}: the servers' {} adapter slots are full; unload one first", adapter,
                options_.adapter_slots);
  if (is_model(adapter)) return fail("{}: is the name of a base model", adapter);
  return {};
}

http::Task<Status> Fleet::publish_now(const std::string& adapter, const std::string& path, bool in_place) {
  if (auto may = may_publish(adapter, path, in_place); !may) co_return may;
  const auto found = adapters_.find(adapter);
  const std::string before = found == adapters_.end() ? "" : found->second;
  if (!before.empty() && !in_place) co_return Status{};
  const auto request = [&](const Backend& b) -> std::optional<http::Request> {
    if (!b.api->has_adapters()) return std::nullopt;
    auto replace = in_place ? b.api->replace(adapter, path) : std::nullopt;
    return replace || !before.empty() ? replace : b.api->load(adapter, path);
  };
  const auto loaded = [&](const Backend& b, const http::Response& r) {
    // A server that does not know of replacing says that the name is there already.
    return before.empty() ? b.api->is_loaded(r, adapter) : r.status == 200;
  };
  const auto undo = [&](const Backend& b) {
    return before.empty() ? b.api->unload(adapter) : b.api->replace(adapter, before);
  };
  withdrawn_.erase(adapter);
  if (!before.empty()) replaced_.insert(adapter);
  auto status = co_await change_all(fmt::format("publishing {}", adapter), request, loaded, undo);
  if (status) status = co_await prove(adapter, undo);
  if (!status) {
    if (before.empty()) withdrawn_.insert(adapter);
    co_return status;
  }
  adapters_.insert_or_assign(adapter, path);
  for (auto& backend : backends_)
    if (backend->state == BackendState::serving) backend->adapters.insert(adapter);
  ++counts_.published;
  co_return Status{};
}

http::Task<Fleet::Outcome> Fleet::ask_canary(size_t index, std::string adapter) {
  Backend& backend = *backends_[index];
  if (backend.models.empty()) co_return Outcome{index, Outcome::Kind::refused, "it names no base model"};
  const std::array<std::string, 2> models = {*backend.models.begin(), adapter};
  std::array<CanaryAnswer, 2> answers;
  for (size_t i = 0; i < models.size(); ++i) {
    http::Request request = canary_request(models[i], options_.canary);
    auto addressed = i == 1 ? backend.api->address(request.body, adapter) : std::nullopt;
    if (addressed) request.body = std::move(*addressed);
    const auto answer = co_await call(backend, std::move(request), options_.load_seconds);
    if (!answer) co_return Outcome{index, Outcome::Kind::silent, answer.error().message};
    auto read = read_canary(*answer);
    if (!read) co_return Outcome{index, Outcome::Kind::refused, read.error().message};
    answers[i] = std::move(*read);
  }
  if (differs(answers[0], answers[1])) co_return Outcome{index};
  co_return Outcome{index, Outcome::Kind::unchanged, "it answers as its base model does"};
}

Status Fleet::judge_canaries(const std::string& adapter, const std::vector<Outcome>& outcomes) {
  using Kind = Outcome::Kind;
  const auto refused = std::ranges::find(outcomes, Kind::refused, &Outcome::kind);
  const auto unchanged = std::ranges::find(outcomes, Kind::unchanged, &Outcome::kind);
  const bool acts = std::ranges::count(outcomes, Kind::done, &Outcome::kind) > 0;
  // An adapter that was not trained yet changes nothing, on no server; once one has acted, all must.
  const bool untrained = unchanged != outcomes.end() && !acts && !proved_;
  proved_ = proved_ || acts;
  if (refused == outcomes.end() && untrained) {
    ++counts_.unproved;
    spdlog::warn("{}: every server answers the canary as its base model does", adapter);
    return {};
  }
  const auto bad = refused != outcomes.end() ? refused : unchanged;
  if (bad == outcomes.end()) return {};
  return fail("publishing {}: the canary on {}: {}", adapter, backends_[bad->backend]->name(), bad->reason);
}

http::Task<Status> Fleet::prove(const std::string& adapter, const Ask& undo) {
  // While generation is paused nothing would be answered.
  if (options_.canary.empty() || paused_) co_return Status{};
  std::vector<http::Task<Outcome>> tasks;
  for (const size_t target : serving()) tasks.push_back(ask_canary(target, adapter));
  const auto outcomes = co_await http::when_all(loop_, std::move(tasks));
  for (const auto& outcome : outcomes)
    if (outcome.kind == Outcome::Kind::silent)
      apply(*backends_[outcome.backend], BackendEvent::failed, outcome.reason);
  auto proved = judge_canaries(adapter, outcomes);
  if (proved) co_return proved;
  ++counts_.undone;
  const Accepts always = [](const Backend&, const http::Response&) { return true; };
  (void)co_await ask_all(serving(), undo, always);
  co_return proved;
}

http::Task<Status> Fleet::withdraw(std::string adapter, double wait_seconds) {
  const auto found = adapters_.find(adapter);
  if (found == adapters_.end()) co_return fail("{}: no such adapter is published", adapter);
  const std::string path = found->second;
  // New requests for it are refused from here on. Those that run come to their ends, and other changes go on
  // meanwhile.
  adapters_.erase(found);
  leaving_.insert(adapter);
  auto status = co_await unused(adapter, wait_seconds);
  if (status) status = co_await unload(adapter, path);
  leaving_.erase(adapter);
  if (!status) adapters_.emplace(adapter, path);
  co_return status;
}

http::Task<Status> Fleet::unused(const std::string& adapter, double wait_seconds) {
  const double until = clock_.now() + wait_seconds;
  while (in_use_.contains(adapter) && clock_.now() < until)
    if (!co_await loop_.sleep(kTurnPause)) break;
  if (!in_use_.contains(adapter)) co_return Status{};
  co_return fail("{}: {} requests still use it", adapter, in_use_[adapter]);
}

http::Task<Status> Fleet::unload(const std::string& adapter, const std::string& path) {
  if (!co_await begin_change()) co_return fail("{}: another change does not end", adapter);
  const auto unload = [&](const Backend& b) { return std::optional(b.api->unload(adapter)); };
  const auto unloaded = [&](const Backend& b, const http::Response& r) { return b.api->is_unloaded(r); };
  const auto load = [&](const Backend& b) { return std::optional(b.api->load(adapter, path)); };
  auto status = co_await change_all(fmt::format("unloading {}", adapter), unload, unloaded, load);
  end_change();
  if (!status) co_return status;
  withdrawn_.insert(adapter);
  replaced_.erase(adapter);
  // Who is being synced may have been given it just now, and unloads it in its next round.
  for (auto& backend : backends_)
    if (backend->state == BackendState::serving) backend->adapters.erase(adapter);
  ++counts_.withdrawn;
  co_return Status{};
}

http::Task<Status> Fleet::pause(PauseMode mode) {
  if (!co_await begin_change()) co_return fail("pausing: another change does not end");
  const Ask pause_it = [mode](const Backend& b) { return b.api->pause(mode); };
  const Ask resume_it = [](const Backend& b) { return b.api->resume(); };
  auto status = co_await change_all("pausing", pause_it, is_ok, resume_it);
  paused_ = paused_ || status;
  end_change();
  co_return status;
}

http::Task<Status> Fleet::resume() {
  if (!co_await begin_change()) co_return fail("resuming: another change does not end");
  const Ask resume_it = [](const Backend& b) { return b.api->resume(); };
  // What resumed goes on: there is nothing to undo about it.
  const Ask nothing = [](const Backend&) -> std::optional<http::Request> { return std::nullopt; };
  auto status = co_await change_all("resuming", resume_it, is_ok, nothing);
  paused_ = paused_ && !status;
  end_change();
  co_return status;
}

}  // namespace nereus::serving
