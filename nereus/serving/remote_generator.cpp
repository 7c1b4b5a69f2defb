#include "nereus/serving/remote_generator.h"

#include <algorithm>
#include <chrono>

#include "nereus/base/clock.h"

namespace nereus::serving {

namespace {

constexpr double kLongestPause = 30;

rollout::Finish finish_of(const Json& reason) {
  if (reason == "stop") return rollout::Finish::stop;
  return reason == "length" ? rollout::Finish::length : rollout::Finish::cancelled;
}

/// The version that a server says sampled a choice, where it says so: [[version, tokens], ...].
Status check_versions(const Json& choice, int64_t expected) {
  const auto runs = choice.find("policy_versions");
  if (runs == choice.end()) return {};  // its model's name is the version
  for (const Json& run : *runs)
    if (!run.is_array() || run.size() != 2 || run[0] != expected)
      return fail("an answer has tokens of policy {}, asked for was {}", run.is_array() ? run[0].dump() : "?",
                  expected);
  return {};
}

Result<rollout::Completion> completion_of(const Json& choice, int64_t number, int64_t version) {
  rollout::Completion completion;
  try {
    completion.index = choice.at("index").get<uint32_t>();
    completion.tokens = choice.at("token_ids").get<rollout::Tokens>();
    completion.logprobs = choice.at("logprobs").at("token_logprobs").get<std::vector<float>>();
    completion.finish = finish_of(choice.at("finish_reason"));
  } catch (const Json::exception& error) {
    return fail("an answer lacks what was asked for (return_token_ids, logprobs): {}", error.what());
  }
  if (completion.logprobs.size() != completion.tokens.size())
    return fail("an answer has {} tokens and {} log-probs", completion.tokens.size(),
                completion.logprobs.size());
  if (completion.finish == rollout::Finish::cancelled) return fail("an answer was cut off by its server");
  if (auto same = check_versions(choice, number); !same) return pass(same);
  completion.versions.assign(completion.tokens.size(), version);
  return completion;
}

/// Tells the callback of the tokens; drops those after the one at which it ends the completion.
void cut_at_stops(rollout::Group& group, const rollout::TokenCallback& on_token) {
  if (!on_token) return;
  for (auto& completion : group.completions)
    for (size_t i = 0; i < completion.tokens.size(); ++i) {
      if (on_token(group.prompt_id, completion.index, completion.tokens[i], completion.logprobs[i])) continue;
      completion.tokens.resize(i + 1);
      completion.logprobs.resize(i + 1);
      completion.versions.resize(i + 1);
      completion.finish = rollout::Finish::stop;
    }
}

/// 404: a server that was started again has lost its adapters, and is given them again.
bool try_again(int status) {
  return status >= 500 || status == 429 || status == 408 || status == 404;
}

double now() {
  return SteadyClock().now();
}

http::Task<> drop(std::unique_ptr<http::Client> client) {
  client.reset();
  co_return;
}

}  // namespace

OrderedJson remote_request(const rollout::Request& request) {
  const auto& sampling = request.sampling;
  return {{"model", request.policy},
          {"prompt", request.prompt},
          {"n", request.count},
          {"max_tokens", sampling.max_new_tokens},
          {"temperature", sampling.temperature},
          {"top_p", sampling.top_p},
          {"top_k", sampling.top_k == 0 ? -1 : sampling.top_k},
          {"min_p", sampling.min_p},
          {"stop_token_ids", sampling.stop_ids},
          {"seed", request.seed},
          {"prompt_id", request.stream.value_or(request.prompt_id)},
          {"logprobs", 0},
          {"return_token_ids", true}};
}

Result<rollout::Group> remote_group(const rollout::Request& request, const Json& answer, int64_t number,
                                    int64_t version) {
  const auto choices = answer.find("choices");
  if (!answer.is_object() || choices == answer.end() || !choices->is_array() ||
      choices->size() != request.count)
    return fail("an answer has no list of {} choices", request.count);
  rollout::Group group{request.prompt_id, request.prompt, {}};
  for (const Json& choice : *choices) {
    auto completion = completion_of(choice, number, version);
    if (!completion) return pass(completion);
    group.completions.push_back(std::move(*completion));
  }
  std::ranges::sort(group.completions, {}, &rollout::Completion::index);
  for (uint32_t i = 0; i < request.count; ++i)
    if (group.completions[i].index != i) return fail("an answer lacks choice {}", i);
  return group;
}

RemoteGenerator::RemoteGenerator(http::Loop& loop, RemoteOptions options)
    : loop_(loop), options_(std::move(options)), client_(std::make_unique<http::Client>(loop)) {}

RemoteGenerator::~RemoteGenerator() {
  for (auto& [id, running] : running_) running.stop.request_stop();
  {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return asking_ == 0; });
  }
  // The client lives on the loop, and the last to answer may still be on its way out there.
  loop_.run(drop(std::move(client_)));
}

void RemoteGenerator::set_policy(std::string name, int64_t number, int64_t offset) {
  policy_ = std::move(name);
  number_ = number;
  offset_ = offset;
}

Status RemoteGenerator::submit(rollout::Request request, rollout::TokenCallback on_token) {
  if (running_.contains(request.prompt_id))
    return fail("prompt {} is already being completed", request.prompt_id);
  if (request.policy.empty()) request.policy = policy_;
  Running& running = running_[request.prompt_id];
  running.request = std::move(request);
  running.on_token = std::move(on_token);
  {
    const std::lock_guard lock(mutex_);
    ++asking_;
  }
  loop_.spawn(ask(running.request, number_, version(), running.stop.get_token()));
  return {};
}

void RemoteGenerator::cancel(uint64_t prompt_id) {
  if (const auto found = running_.find(prompt_id); found != running_.end()) found->second.stop.request_stop();
}

Result<std::vector<rollout::Group>> RemoteGenerator::step() {
  std::deque<Answered> answers;
  {
    std::unique_lock lock(mutex_);
    answered_.wait_for(lock, std::chrono::duration<double>(options_.wait_seconds),
                       [this] { return !answers_.empty(); });
    answers = std::exchange(answers_, {});
    if (answers.empty() && !trouble_.empty() && now() - failing_since_ > options_.give_up_seconds)
      return fail("{}: no answer for {:.0f} s: {}", options_.url.text(), now() - failing_since_, trouble_);
  }
  std::vector<rollout::Group> groups;
  for (auto& [id, group] : answers) {
    const auto found = running_.find(id);
    const Running running = std::move(found->second);
    running_.erase(found);
    if (!group) return pass(group);
    cut_at_stops(*group, running.on_token);
    groups.push_back(std::move(*group));
  }
  return groups;
}

std::string RemoteGenerator::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void RemoteGenerator::note_trouble(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) failing_since_ = now();
  trouble_ = what;
}

void RemoteGenerator::deliver(uint64_t prompt_id, Result<rollout::Group> group) {
  {
    const std::lock_guard lock(mutex_);
    if (group) trouble_.clear();
    answers_.emplace_back(prompt_id, std::move(group));
    --asking_;
  }
  answered_.notify_all();
}

http::Task<Result<http::Response>> RemoteGenerator::send(const rollout::Request& request,
                                                         std::stop_token stop) {
  http::Request message = http::json_request("POST", "/v1/completions", remote_request(request));
  if (!options_.token.empty()) message.headers.set("Authorization", "Bearer " + options_.token);
  http::CallOptions call;
  call.head_seconds = call.piece_seconds = call.total_seconds = options_.answer_seconds;
  call.stop = std::move(stop);
  co_return co_await client_->fetch(options_.url, std::move(message), call);
}

http::Task<> RemoteGenerator::ask(rollout::Request request, int64_t number, int64_t version,
                                  std::stop_token stop) {
  double pause = options_.retry_seconds;
  const uint64_t id = request.prompt_id;
  while (!stop.stop_requested()) {
    const auto response = co_await send(request, stop);
    if (response && response->status == 200) {
      const auto answer = parse_json(response->body, options_.url.text());
      auto group = answer ? remote_group(request, *answer, number, version) : pass(answer);
      if (group) co_return deliver(id, std::move(group));
      note_trouble(group.error().message);
    } else if (response && !try_again(response->status)) {
      co_return deliver(id, fail("{}: status {} for prompt {}: {}", options_.url.text(), response->status, id,
                                 response->body.substr(0, 500)));
    } else {
      note_trouble(response ? fmt::format("status {}: {}", response->status, response->body.substr(0, 200))
                            : response.error().message);
    }
    if (!co_await loop_.sleep(pause, stop)) break;
    pause = std::min(2 * pause, kLongestPause);
  }
  rollout::Group cancelled{id, std::move(request.prompt), {}};
  for (uint32_t i = 0; i < request.count; ++i)
    cancelled.completions.push_back({i, {}, {}, {}, rollout::Finish::cancelled});
  deliver(id, std::move(cancelled));
}

}  // namespace nereus::serving
